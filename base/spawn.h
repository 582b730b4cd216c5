#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The entries ("NAME=value") of this process's environment of which `withheld` is false.
std::vector<std::string> EnvironmentWithout(const std::function<bool(std::string_view entry)>& withheld);

// The texts as exec and posix_spawn take them, a null pointer after the last. REQUIRES they are not changed
// while the result is used.
std::vector<char*> Pointers(const std::vector<std::string>& texts);

// The standard descriptors of a new process.
struct StandardFiles {
  int in = -1;
  int out = -1;
  int err = -1;
};

// Starts a program, searched in PATH if its name has no '/', with these arguments (the first is its name) and
// this environment: in a process group of its own, with no signal blocked or ignored, and with no other
// descriptor than `files`. Returns 0, or the errno of the failure; `pid` is set if it was started.
int Spawn(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const StandardFiles& files, pid_t* pid);

}  // namespace winnow
