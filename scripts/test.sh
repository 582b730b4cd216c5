#!/usr/bin/env bash
# Installs, builds and runs every test. Tests that need the real data skip, visibly, unless WINNOW_DATA_DIR names a folder
# with bank-additional-full.csv.gz.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-packages.sh --tests
cmake --preset release -DWINNOW_TESTS=ON -DWINNOW_BENCH=ON
cmake --build --preset release

set -o pipefail
ctest --preset release --output-junit "$PWD/build/test-results.xml" "$@"
python3 scripts/count-tests.py build/test-results.xml
