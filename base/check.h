#pragma once

#include <string_view>

namespace winnow {

// Prints "FILE:LINE: check failed: CONDITION (EXPECTED)" to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view expected);

}  // namespace winnow

// Ends the process unless `condition` holds, in every build. `expected` is the assumption of the code; it is
// evaluated only on failure. For errors in Winnow's own code and in the system below it: errors of users,
// files and peers are an absl::Status.
#define WINNOW_CHECK(condition, expected) \
  (static_cast<bool>(condition) ? void() : ::winnow::CheckFailed(__FILE__, __LINE__, #condition, expected))

// Ends the process: this point cannot be reached. `expected` says why.
#define WINNOW_UNREACHABLE(expected) ::winnow::CheckFailed(__FILE__, __LINE__, "false", expected)
