#!/usr/bin/env bash
# Builds tests under a sanitizer and runs them; fails at the first program that fails or is reported on.
#
#   scripts/sanitize.sh address [PROGRAM...]   address, leaks and undefined behaviour; the tests of libraries and services
#   scripts/sanitize.sh thread [PROGRAM...]    data races; tests without gRPC, which is packaged uninstrumented and makes
#                                              the sanitizer report what is none
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  address)
    preset=asan
    programs=(scheduler_test insight_test store_test artifact_test spec_test rpc_test server_coordinator_test
      server_service_test server_security_test server_artifact_test server_insight_test server_http_test worker_tests
      worker_agent_tests worker_artifact_tests data_test collective_test trainer_test gbdt_objectives_test gbdt_test
      mlp_test cli_test)
    ;;
  thread)
    preset=tsan
    programs=(store_test server_coordinator_test worker_tests data_test collective_test trainer_test gbdt_test mlp_test)
    ;;
  *)
    echo "usage: $0 address|thread [PROGRAM...]" >&2
    exit 2
    ;;
esac
shift
if [ $# -gt 0 ]; then programs=("$@"); fi

cmake --preset "$preset" -DWINNOW_BENCH=OFF >/dev/null
cmake --build --preset "$preset" --target "${programs[@]}"
for program in "${programs[@]}"; do
  began=$SECONDS
  # Tests of speed say nothing here.
  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/thread-sanitizer.suppressions" \
    "build-$preset/tests-bin/$program" "~[speed]" >"build-$preset/$program.log" 2>&1 || {
    tail -n 60 "build-$preset/$program.log" >&2
    echo "$program failed; see build-$preset/$program.log" >&2
    exit 1
  }
  printf '%-26s %4d s  %s\n' "$program" $((SECONDS - began)) "$(grep -a -E 'All tests passed|test cases' "build-$preset/$program.log" | tail -1)"
done
