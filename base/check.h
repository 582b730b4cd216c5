#pragma once

#include <string_view>

namespace winnow {

// Prints "FILE:LINE: check failed: CONDITION (EXPECTED)" to stderr and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, std::string_view expected);

}  // namespace winnow

// Ends the process unless `condition` holds, in every build. `expected` says what the code relies on; it is
// evaluated only on failure. For mistakes in Winnow's own code and for a system without which nothing can go
// on: what users, files and peers get wrong is an absl::Status.
#define WINNOW_CHECK(condition, expected) \
  (static_cast<bool>(condition) ? void() : ::winnow::CheckFailed(__FILE__, __LINE__, #condition, expected))

// Ends the process: control never gets here. `expected` says why.
#define WINNOW_UNREACHABLE(expected) ::winnow::CheckFailed(__FILE__, __LINE__, "false", expected)
