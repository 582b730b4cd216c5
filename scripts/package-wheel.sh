#!/usr/bin/env bash
# Makes the wheel of the Python client with Debian's python3-setuptools and python3-wheel, without a network.
#
#   scripts/package-wheel.sh [--with-programs BIN] [--out DIR]
#
# --with-programs: the wheel also carries the programs of this folder (build/bin), for this machine's architecture, and
# their shared libraries, all but those of the C library (needs patchelf and binutils). The wheel's platform tag says the
# version of the C library that these files need, so that pip refuses it where that is older; the libraries' licences are in
# winnow/licenses. --out: where the wheel is put (default: dist). Prints its path.
set -euo pipefail
umask 022  # everyone may read what is installed

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
chmod -R a+rX "$work"
rm -rf "$work/winnow/bin" "$work/winnow/lib" "$work/winnow/licenses" "$work/build"
sed -n 's/^project(winnow VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt" > "$work/VERSION"
tag=()
if [ -n "$programs" ]; then
  command -v patchelf >/dev/null || { echo "$0: patchelf is missing; expected Debian's package patchelf" >&2; exit 1; }
  mkdir "$work/winnow/bin" "$work/winnow/lib" "$work/winnow/licenses"
  for program in winnow winnow-server winnow-worker winnow-gbdt winnow-mlp; do
    install -s "$programs/$program" "$work/winnow/bin/"
    ldd "$programs/$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' >>"$work/libraries"
    patchelf --set-rpath '$ORIGIN/../lib' "$work/winnow/bin/$program"
  done
  # The C library and what belongs to it must be the host's.
  sort -u "$work/libraries" | grep -Ev '/(libc|libm|libdl|librt|libpthread|libresolv|libanl)\.so' | while read -r library; do
    install -m 0755 "$library" "$work/winnow/lib/"
    readlink -f "$library" >>"$work/files"
  done
  patchelf --set-rpath '$ORIGIN' "$work"/winnow/lib/*
  # dpkg may know a library below /lib although it is below /usr/lib; it finds one of the two.
  { cat "$work/files"; sed -n 's|^/usr/lib/|/lib/|p' "$work/files"; } | xargs dpkg-query -S 2>/dev/null >"$work/packages" || true
  [ "$(wc -l <"$work/packages")" -ge "$(wc -l <"$work/files")" ] ||
    { echo "$0: libraries of no Debian package; expected a package of each, for its licence" >&2; exit 1; }
  cut -d: -f1 "$work/packages" | sort -u | while read -r package; do
    cp "/usr/share/doc/$package/copyright" "$work/winnow/licenses/$package.txt"
  done
  glibc=$(objdump -T "$work"/winnow/bin/* "$work"/winnow/lib/* | grep -o 'GLIBC_2\.[0-9]*' | sort -uV | tail -n 1)
  glibc=${glibc#GLIBC_}
  install "$root/worker/winnow-mpirun" "$work/winnow/bin/"
  cat >>"$work/pyproject.toml" <<'END'

[project.scripts]
winnow = "winnow.programs:main"
winnow-server = "winnow.programs:main"
winnow-worker = "winnow.programs:main"
winnow-gbdt = "winnow.programs:main"
winnow-mlp = "winnow.programs:main"
END
  tag=(--plat-name "manylinux_${glibc/./_}_$(uname -m)")
fi
cd "$work"
/usr/bin/python3 -W ignore -c 'import setuptools; setuptools.setup()' -q bdist_wheel --dist-dir "$work/dist" "${tag[@]}" 2> "$work/log" >&2 || { cat "$work/log" >&2; exit 1; }
wheel=$(basename "$work"/dist/*.whl)
mv "$work/dist/$wheel" "$out/"
echo "$out/$wheel"
