#!/usr/bin/env bash
# Makes the wheel of the Python client with Debian's python3-setuptools and python3-wheel, without a network.
#
#   scripts/package-wheel.sh [--with-programs BIN] [--out DIR]
#
# --with-programs: the wheel also carries the programs of this folder (build/bin), for this machine's architecture; their
# shared libraries stay the system's. --out: where the wheel is put (default: dist). Prints its path.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
out=dist programs=
while [ $# -gt 0 ]; do
  case $1 in
    --with-programs) programs=$(cd "$2" && pwd); shift 2 ;;
    --out) out=$2; shift 2 ;;
    *) echo "usage: $0 [--with-programs BIN] [--out DIR]" >&2; exit 2 ;;
  esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$root/clients/python/." "$work"
cp "$root/LICENSE" "$work"
rm -rf "$work/winnow/bin" "$work/build"
sed -n 's/^project(winnow VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt" > "$work/VERSION"
tag=()
if [ -n "$programs" ]; then
  mkdir "$work/winnow/bin"
  for program in winnow winnow-server winnow-worker winnow-gbdt winnow-mlp; do
    install -s "$programs/$program" "$work/winnow/bin/"
  done
  tag=(--plat-name "linux_$(uname -m)")
fi
cd "$work"
/usr/bin/python3 -W ignore -c 'import setuptools; setuptools.setup()' -q bdist_wheel --dist-dir "$work/dist" "${tag[@]}" 2> "$work/log" >&2 || { cat "$work/log" >&2; exit 1; }
wheel=$(basename "$work"/dist/*.whl)
mv "$work/dist/$wheel" "$out/"
echo "$out/$wheel"
