#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

namespace winnow {

// Whether one of the processes has, or is opening, a connection to another process: by TCP, UDP or an
// InfiniBand device. Connections among the processes, and listening sockets, do not count. Empty: unknown,
// because they are gone or another user's. `proc` is their host's; a test passes its own.
std::optional<bool> AreConnected(const std::vector<pid_t>& processes,
                                 const std::filesystem::path& proc = "/proc");

}  // namespace winnow
