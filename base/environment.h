#pragma once

#include <optional>
#include <string>

namespace winnow {

// The environment of this process and of its host.

// "": the variable is not set.
std::string EnvironmentVariable(const char* name);

// Returns the variable's value and removes it: processes that are started later do not inherit it, and
// /proc/PID/environ does not show it. REQUIRES: no other thread uses the environment.
std::string TakeEnvironmentVariable(const char* name);

// The directory of what programs keep for later and can make again: that of WINNOW_CACHE_DIR, or "winnow" in
// the user's cache directory. "": WINNOW_CACHE_DIR is "off". Absent: the environment names none.
std::optional<std::string> UserCacheFolder();

// Tells one start of this host from another; "": not known.
const std::string& BootId();

}  // namespace winnow
