#pragma once

#include <optional>

#include "server/server_flags.h"

namespace winnow {

// What winnow-server does instead of serving: --check, --restore, --copy-to, --copy-artifacts. Prints what
// was done, or the error, and returns the exit code. Absent: the flags ask for none of it.
std::optional<int> RunTask(const ServerFlags& flags);

}  // namespace winnow
