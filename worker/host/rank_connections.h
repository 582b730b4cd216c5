#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace winnow {

// Whether one of the processes is connected with a process that is none of them, or is about to be: by TCP, UDP or an
// InfiniBand device. What they have among themselves, and what they only listen at, does not count. Empty: that cannot be
// said, since they are gone or not this user's. `proc` is of their host; a test brings its own.
std::optional<bool> AreConnected(const std::vector<pid_t>& processes, const std::filesystem::path& proc = "/proc");

}  // namespace winnow
