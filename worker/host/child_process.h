#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <vector>

#include "worker/host/run_as.h"

namespace winnow {

// What failed in the child before the program ran.
struct ExecFailure {
  enum Step : int { kSetup, kUser, kDirectory, kExec } step;
  int error;
};

// Everything that the child needs, made before the fork: between fork and exec only async-signal-safe calls
// are allowed, since other threads (gRPC's) may hold any lock.
struct ChildPlan {
  pid_t parent;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<const char*> programs;  // tried in this order
  const char* directory;              // null: stay
  int input, output, error, failure;
  int group_folder = -1;  // of its group
  int join_file = -1;     // likewise
  bool bound = false;     // to the processors
  cpu_set_t processors = {};
  rlimit data = {0, 0};
  const TrainerUser* user = nullptr;  // null: this process's
};

// Forks a child that does what the plan says and then becomes the first program that can be executed; its id,
// or -1 and errno. What the child fails at comes from plan.failure as an ExecFailure; the end of the file
// means that it did not. REQUIRES: all signals are blocked.
pid_t ForkAndExec(ChildPlan* plan);

}  // namespace winnow
