#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What workers do for assignments before their programs start, as they have said last (Rank.preparing). It
// is not recorded: after a restart of the server the workers say it again. Thread-safe.
class Preparations {
 public:
  // `what` empty: the assignment is not prepared any more.
  void Set(const std::string& assignment, const std::string& what) {
    const MutexLock lock(mutex_);
    if (what.empty()) {
      by_assignment_.erase(assignment);
    } else {
      by_assignment_[assignment] = what;
    }
  }

  // Fills in Rank.preparing of an attempt that has not ended.
  void AddTo(v1::Attempt& attempt) const {
    if (!attempt.outcome().empty()) return;
    const MutexLock lock(mutex_);
    for (v1::Rank& rank : *attempt.mutable_ranks()) {
      const auto found = by_assignment_.find(rank.assignment_id());
      if (found != by_assignment_.end()) rank.set_preparing(found->second);
    }
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::string> by_assignment_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow
