#define CATCH_CONFIG_RUNNER
#include "tests/catch.h"
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#endif

namespace winnow {
namespace {

bool skipped = false;

}  // namespace

void Skip(const std::string& why) {
  skipped = true;
  WARN("skipped here: " << why);
}

}  // namespace winnow

// Catch's own exit code is a number of failures, which may be 77.
int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // the SKIP_RETURN_CODE of cmake/targets.cmake
  if (Catch::Session().run(argc, argv) != 0) return 1;
  return winnow::skipped ? kSkipped : 0;
}
