#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "worker/host/cgroup.h"

namespace winnow {

// A group of cgroup v2 under which this process may make others, with the controllers memory and cpu if any
// place for it has them: in this process's own group, for which that must be the process's alone or a
// container's root, or in one above, though never outside one that has a limit. Found out by trying: a child
// process has joined a group in it. Empty where nothing can be made.
std::optional<Cgroup> MakeGroupTree(const std::string& name);

// Kills all that is in the groups below the one that the file names, removes them and the file; waits up to
// 10 s until they are empty. How many processes there were. Does nothing if this process is one of them.
int KillLeftoverGroups(const std::filesystem::path& record);

}  // namespace winnow
