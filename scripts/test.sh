#!/usr/bin/env bash
# Installs, builds and runs every test. Tests that need the real data skip, visibly, unless WINNOW_DATA_DIR names a folder
# with bank-additional-full.csv.gz. Tests that fail run once more, one at a time; those that pass then are named at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh --tests
cmake --preset release -DWINNOW_TESTS=ON -DWINNOW_BENCH=ON
cmake --build --preset release

results="$PWD/build/test-results.xml"
again="$PWD/build/test-results-again.xml"
rm -f "$results" "$again"
status=0
ctest --preset release --output-junit "$results" "$@" ||
  ctest --preset release --rerun-failed -j 1 --output-junit "$again" || status=$?
python3 scripts/count-tests.py "$results" "$again" || status=$?
exit "$status"
