#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "worker/host/cgroup.h"

namespace winnow {

// Makes a group of cgroup v2 in which this process may make others, with the controllers memory and cpu if
// any place offers them: in this process's own group (which must hold this process alone or be a container's
// root), or in an ancestor, but never outside a group with a limit. Tested by trying: a child process has
// joined a group in it. Empty: impossible.
std::optional<Cgroup> MakeGroupTree(const std::string& name);

// Kills all processes in the groups below the one that the file names; removes the groups and the file. Waits
// up to 10 s for their end. Returns the number of processes. Does nothing if this process is one of them.
int KillLeftoverGroups(const std::filesystem::path& record);

}  // namespace winnow
