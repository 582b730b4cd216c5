#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/host/run_as.h"

namespace winnow {

// What trainers leave running is known by its environment, as it was when its program was started: children
// inherit it whatever session they move to. Where every trial has a user of its own (UserLease), it is known by that
// too, whatever it does to its environment. Other processes of other users, or that hide theirs, are not seen.

// "WINNOW_ASSIGNMENT=<id>": what a process of that assignment has in its environment.
std::string AssignmentMark(std::string_view assignment);
// "WINNOW_WORK_DIR=<work>": what every trainer of the worker in that folder has as well.
std::string WorkFolderMark(std::string_view work);

// Whether a process of this user was started with that entry in its environment.
bool HasMark(pid_t pid, std::string_view mark);

struct LeftoverCount {
  int killed = 0;
  bool all_gone = true;  // false: some were still there at the end of `patience`
};
// Ends with SIGKILL every process of this user, or of `run_as`, that was started for some assignment in the work folder, and
// waits until they are gone; this process and those above it are left alone. REQUIRES: the folder's lock, so
// that they are an earlier worker's.
LeftoverCount KillLeftovers(std::string_view work, std::chrono::milliseconds patience,
                            const RunAs* run_as = nullptr);

// Those of this process's own children that have `mark`, or that run as `user` while it is alone, killed with SIGKILL and reaped, over several calls.
class MarkedOrphans {
 public:
  // `user` may be null, and outlives this.
  explicit MarkedOrphans(std::string mark, const UserLease* user = nullptr)
      : mark_(std::move(mark)), user_(user) {}

  // Whether any was left when the call began that is not reaped yet or may just have left its own children to
  // us; then it is to be called again. REQUIRES: this process is a child subreaper.
  bool KillSome();

 private:
  const std::string mark_;  // empty: there are none
  const UserLease* const user_;
  int unclear_calls_ = 0;
  std::vector<pid_t> killed_;  // and not yet reaped
};

}  // namespace winnow
