#!/usr/bin/env bash
# Installs what Winnow builds with from Debian's packages; with --tests also what the tests compare against.
# Does nothing where everything is there already, so that it needs no root then.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config ccache mold python3 curl ca-certificates
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev libssl-dev libboost-dev
  libsqlite3-dev libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libre2-dev zlib1g-dev
  libeigen3-dev libnlopt-dev libcsv-dev
)
test_packages=(catch2 sqlite3 python3-numpy python3-xgboost python3-sklearn python3-optuna python3-torch python3-onnx)

packages=("${build_packages[@]}")
if [ "${1:-}" = "--tests" ]; then
  packages+=("${test_packages[@]}")
elif [ $# -gt 0 ]; then
  echo "usage: $0 [--tests]" >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "These packages are missing and need root to install: ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
