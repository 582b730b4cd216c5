#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <vector>

#include "worker/host/run_as.h"

namespace winnow {

// The step that failed in the child before the program ran.
struct ExecFailure {
  enum Step : int { kSetup, kUser, kDirectory, kExec } step;
  int error;
};

// Everything that the child needs, prepared before the fork: between fork and exec only async-signal-safe
// calls are allowed, because other threads (gRPC's) may hold any lock.
struct ChildPlan {
  pid_t parent;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<const char*> programs;  // tried in this order
  const char* directory;              // null: unchanged
  int input, output, error, failure;
  int group_folder = -1;  // of its group; -1: none
  int join_file = -1;     // likewise
  bool bound = false;     // set the affinity to the processors
  cpu_set_t processors = {};
  rlimit data = {0, 0};
  const TrainerUser* user = nullptr;  // null: this process's user
  int inherited = -1;                 // the descriptor of 3 or more that the program keeps; -1: none
  int inherited_as = -1;              // its number in the program
};

// Forks a child that follows the plan and becomes the first program that can be executed. Returns its id, or
// -1 with errno. The child writes a failure to plan.failure as an ExecFailure; end of file means success.
// REQUIRES: all signals are blocked.
pid_t ForkAndExec(ChildPlan* plan);

}  // namespace winnow
