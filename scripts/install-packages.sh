#!/usr/bin/env bash
# Installs what Winnow builds with from Debian's packages; with --packages also what scripts/package.sh makes packages with;
# with --headline also what bench/headline/run.py compares against and draws with; with --tests all of that, what the tests
# compare against, and clang for scripts/fuzz.sh and locks; and with --containers (after --tests) also what builds and runs
# images, and what starts services of its own.
# Does nothing where everything is there already, so that it needs no root then.
set -euo pipefail

build_packages=(
  g++ cmake ninja-build pkg-config ccache mold python3 curl ca-certificates
  libgrpc++-dev libgrpc-dev protobuf-compiler protobuf-compiler-grpc libprotobuf-dev libabsl-dev libssl-dev libboost-dev
  libsqlite3-dev libpq-dev libfmt-dev libspdlog-dev libcli11-dev nlohmann-json3-dev libtomlplusplus-dev libre2-dev zlib1g-dev
  libeigen3-dev libnlopt-dev libcsv-dev prometheus-cpp-dev libcurl4-openssl-dev libyaml-cpp-dev
  libxml2-dev libarchive-dev libcjose-dev libjansson-dev
)
# They build the page. Debian's must not replace a newer Node.
command -v node >/dev/null || build_packages+=(nodejs npm)
package_packages=(dpkg-dev file patchelf python3-setuptools python3-wheel)
headline_packages=(python3-numpy python3-xgboost python3-sklearn python3-optuna python3-matplotlib)
test_packages=("${package_packages[@]}" "${headline_packages[@]}")
test_packages+=(catch2 sqlite3 clang-16 libclang-rt-16-dev python3-pandas python3-torch python3-onnx)
test_packages+=(iproute2 nftables openssl python3-yaml)  # hosts as network namespaces; compose files
test_packages+=(openmpi-bin libopenmpi-dev)             # MPI programs on several nodes
test_packages+=(python3-botocore python3-boto3)          # checks the signatures of requests to S3; the endpoint of SageMaker
test_packages+=(mypy python3-pip python3-venv python3-tqdm)  # the Python client
test_packages+=(slurmrestd slurm-wlm-jwt-plugin)         # a pool that asks Slurm by its REST service
test_packages+=(etcd-server xz-utils)                    # a Kubernetes control plane, see WINNOW_KUBERNETES_DIR
test_packages+=(zstd)                                    # the packages
test_packages+=(python3-grpcio python3-protobuf)           # the example that speaks gRPC
test_packages+=(python3-ipykernel python3-nbclient)      # the example notebook
test_packages+=(msmtp)                                   # a sendmail that can be told where to deliver
test_packages+=(postgresql libfaketime)                  # a server of the tests; servers whose clock is wrong
test_packages+=(slurm-wlm slurmd slurmctld slurm-client munge)  # a cluster on this machine
test_packages+=(slurmdbd slurm-wlm-mysql-plugin mariadb-server-core)  # limits of its accounts
test_packages+=(chromium)                                # what looks at the page
container_packages=(buildah podman runc netavark iptables uidmap mmdebstrap)
container_packages+=(gridengine-master gridengine-exec gridengine-client)  # an engine for a pool; it starts a service too
container_packages+=(prometheus)  # promtool, which reads /metrics; not for everybody's machine, since the package starts a service

packages=("${build_packages[@]}")
for option in "$@"; do
  case $option in
    --packages) packages+=("${package_packages[@]}") ;;
    --headline) packages+=("${headline_packages[@]}") ;;
    --tests) packages+=("${test_packages[@]}") ;;
    --containers) packages+=("${container_packages[@]}") ;;
    *)
      echo "usage: $0 [--packages] [--headline] [--tests] [--containers]" >&2
      exit 2
      ;;
  esac
done

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
