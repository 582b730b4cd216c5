#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/host/run_as.h"

namespace winnow {

// Leftover processes of trainers are recognised by their environment at exec: children inherit it in whatever
// session. Where every trial has its own user (UserLease), that user identifies them too, whatever they do to
// the environment. Processes of other users, or with a hidden environment, are not seen.

// "WINNOW_ASSIGNMENT=<id>": in the environment of each process of that assignment.
std::string AssignmentMark(std::string_view assignment);
// "WINNOW_WORK_DIR=<work>": in the environment of every trainer of the worker in that folder.
std::string WorkFolderMark(std::string_view work);

// Whether a process of this user was started with that entry in its environment.
bool HasMark(pid_t pid, std::string_view mark);

struct LeftoverCount {
  int killed = 0;
  bool all_gone = true;  // false: some were still alive at the end of `patience`
};
// Kills with SIGKILL every process of this user, or of `run_as`, that was started for an assignment in the
// work folder, and waits for its end; spares this process and its ancestors. REQUIRES: the caller holds the
// folder's lock, so that the processes are an earlier worker's.
LeftoverCount KillLeftovers(std::string_view work, std::chrono::milliseconds patience,
                            const RunAs* run_as = nullptr);

// Children of this process that were not adopted: the programs that it has started and not reaped yet. Of
// many, which all wait, MarkedOrphans then looks at none. Thread-safe.
void AddOwnChild(pid_t pid);
void RemoveOwnChild(pid_t pid);
bool IsOwnChild(pid_t pid);

// During its lifetime a child may come by adoption that somebody waits for, and will add. Thread-safe.
class ExpectedChild {
 public:
  ExpectedChild();
  ~ExpectedChild();
  ExpectedChild(const ExpectedChild&) = delete;
  ExpectedChild& operator=(const ExpectedChild&) = delete;
};

// Kills and reaps the adopted children of this process that have `mark` or, while IsAlone(), run as `user`.
// Reaps those of others too that have ended by themselves, unless an ExpectedChild lives.
class MarkedOrphans {
 public:
  // `user` may be null, and outlives this.
  explicit MarkedOrphans(std::string mark, const UserLease* user = nullptr)
      : mark_(std::move(mark)), user_(user) {}

  // Returns whether any was left when the call began that is not reaped, or may just have left its children
  // to us; then call again. `again`: the caller does so in any case; the call is not one of the few that wait
  // for a program that shows no environment yet. REQUIRES: this process is a child subreaper.
  bool KillSome(bool again = false);

 private:
  const std::string mark_;  // empty: none
  const UserLease* const user_;
  int unclear_calls_ = 0;
  std::vector<pid_t> killed_;  // not reaped yet
};

}  // namespace winnow
