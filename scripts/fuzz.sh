#!/usr/bin/env bash
# Builds the fuzzers of tests/fuzz (clang, address and undefined-behaviour sanitizers) and runs each for SECONDS, or the
# named ones alone, as many at a time as there are processors. Prints how many inputs a second each has tried; fails if
# any has found something, whose input then lies in build-fuzz/findings.
#
#   scripts/fuzz.sh [SECONDS [NAME...]]      default: 60 seconds, all
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
case $seconds in
  *[!0-9]* | "")
    echo "usage: $0 [SECONDS [NAME...]]" >&2
    exit 2
    ;;
esac

cmake --preset fuzz >/dev/null
targets=()
for name in "$@"; do targets+=("${name}_fuzz"); done
cmake --build --preset fuzz --target "${targets[@]:-fuzzers}"
if [ $# -eq 0 ]; then
  for folder in tests/fuzz/corpus/*/; do set -- "$@" "$(basename "$folder")"; done
fi

mkdir -p build-fuzz/findings
printf '%-18s %10s %12s %10s %8s\n' fuzzer seconds inputs inputs/s coverage
# One fuzzer, and its line of the table. An input may take 60 s (a busy machine) and 1 GiB; the sanitizers make a parser
# several times slower and larger.
fuzz() {
  local name=$1 log=build-fuzz/$1.log
  mkdir -p "build-fuzz/corpus/$name"
  rm -f "build-fuzz/$name.found"
  "build-fuzz/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/findings/$name-" "build-fuzz/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 ||
    touch "build-fuzz/$name.found"
  number() { sed -n "s/^stat::$1: *//p" "$log"; }
  printf '%-18s %10s %12s %10s %8s\n' "$name" "$seconds" "$(number number_of_executed_units)" \
    "$(number average_exec_per_sec)" "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)"
}
running=0
for name in "$@"; do
  if [ "$running" -ge "$(nproc)" ]; then
    wait -n
    running=$((running - 1))
  fi
  fuzz "$name" &
  running=$((running + 1))
done
wait
found=()
for name in "$@"; do
  if [ -e "build-fuzz/$name.found" ]; then found+=("$name"); fi
done
if [ ${#found[@]} -gt 0 ]; then
  for name in "${found[@]}"; do
    echo "== $name has findings; the end of build-fuzz/$name.log:" >&2
    tail -n 40 "build-fuzz/$name.log" >&2
  done
  exit 1
fi
echo "No findings."
