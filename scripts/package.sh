#!/usr/bin/env bash
# Makes what users install: winnow_VERSION_ARCH.deb, winnow-VERSION-Linux-ARCH.tar.zst and the wheel of the Python client
# with the programs in it.
#
#   scripts/package.sh [--build BUILD] [--out DIR] [deb|tar|wheel ...]
#
# --build: a build directory whose programs are built (default: build, which is built if need be).
# --out: where they are put (default: dist). Without names: all three. Prints their paths.
set -euo pipefail
umask 022  # everyone may read what is installed

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build out=dist own=yes
usage() { sed -n '2,8p' "$0" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --build) [ $# -gt 1 ] || usage; build=$(cd "$2" && pwd); own=no; shift 2 ;;
    --out) [ $# -gt 1 ] || usage; out=$2; shift 2 ;;
    -*) usage ;;
    *) break ;;
  esac
done
kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(deb tar wheel)
mkdir -p "$out"
out=$(cd "$out" && pwd)

if [ "$own" = yes ]; then
  (cd "$root" && scripts/install-packages.sh --packages && cmake --preset release -DWINNOW_TESTS=OFF -DWINNOW_BENCH=OFF &&
    cmake --build --preset release) >&2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# needs PROGRAM PACKAGE: ends where the program is missing. Without some of them cpack makes a package that lacks something.
needs() {
  command -v "$1" >/dev/null || { echo "$0: $1 is missing; expected Debian's package $2" >&2; exit 1; }
}

# pack GENERATOR PATTERN: makes a package and moves it to $out.
pack() {
  cpack --config "$build/CPackConfig.cmake" -G "$1" -B "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  local made
  made=$(find "$work" -maxdepth 1 -name "$2")
  mv "$made" "$out/"
  echo "$out/$(basename "$made")"
}

for kind in "${kinds[@]}"; do
  case $kind in
    deb)
      needs dpkg-shlibdeps dpkg-dev  # finds the libraries that the package depends on
      needs file file
      pack DEB '*.deb'
      ;;
    tar) pack TZST '*.tar.zst' ;;
    wheel) "$root/scripts/package-wheel.sh" --with-programs "$build/bin" --out "$out" ;;
    *) usage ;;
  esac
done
