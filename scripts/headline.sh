#!/usr/bin/env bash
# From a clone to the headline experiment's page: installs what it needs, builds, gets the published data and runs
# bench/headline/run.py with the arguments given here (bench/headline/run.py --help).
#
#   scripts/headline.sh --quick       some minutes, one seed; writes to build/headline-quick
#   scripts/headline.sh               21 minutes on 2 cores, and 7 to 8 for a build from nothing; writes docs/results.md
#
# With --bin nothing is built; with --data the folder is taken as it is.
# WINNOW_DATA_DIR   folder with bank-additional-full.csv.gz and MNIST's four files, or some of them
#                   (the others are downloaded to examples/data, with checksums; nothing is made up)
# WINNOW_DATA_URL, WINNOW_MNIST_URL   mirrors (scripts/published-data.sh)
set -euo pipefail

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly repository
readonly python="${PYTHON:-/usr/bin/python3}"  # Debian's, for whose packages are installed
readonly data="$repository/examples/data" run="$repository/bench/headline/run.py"
build=yes get=yes only=""
previous=""
for argument in "$@"; do
  case $argument in
    -h | --help)
      exec "$python" "$run" --help
      ;;
    --bin | --bin=*) build=no ;;
    --data | --data=*) get=no ;;
    --only=*) only="${argument#*=}" ;;
  esac
  if [[ "$previous" == --only ]]; then only="$argument"; fi
  previous="$argument"
done

"$repository/scripts/install-packages.sh" --headline
if [[ "$only" == page ]]; then  # which runs nothing
  build=no get=no
fi
if [[ "$build" == yes ]]; then
  (
    cd "$repository"  # of whose presets it is told
    cmake --preset release -DWINNOW_TESTS=OFF -DWINNOW_BENCH=OFF >/dev/null
    cmake --build --preset release
  )
fi
from=()
if [[ "$get" == yes ]]; then
  # Some parts need some of the files only, of which run.py knows.
  "$repository/scripts/get-data.sh" --published "$data" || [[ -n "$only" ]] || exit 1
  from=(--data "$data")
fi
exec "$python" "$run" "${from[@]}" "$@"
