#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace winnow {

void CheckFailed(const char* file, int line, const char* condition, std::string_view expected) {
  std::fprintf(stderr, "%s:%d: check failed: %s (%.*s)\n", file, line, condition,
               static_cast<int>(expected.size()), expected.data());
  std::abort();
}

}  // namespace winnow
