#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "scheduler/space/types.h"

namespace winnow {

struct FailureCount {
  int64_t trials = 0;
  TrialNumber first = 0;  // the lowest number among them

  bool operator==(const FailureCount&) const = default;
};

// The failed trials of a job, counted by the reason of their failure.
//
// For limits.max_first_failures it also counts those that their trainer failed before any trial of the job
// reported a value. Failures with one reason point to an error in the job itself. Failures with different
// reasons may be bad configurations, so more of them are needed.
class Failures {
 public:
  enum class Kind {
    kOfMachines,    // lost too often
    kOfTrainer,     // its program failed
    kDiverged,      // it reported a value that is not finite
    kWithoutValue,  // its program finished without a value
  };
  static constexpr int64_t kTimesForAnyReason = 4;

  // 0: no limit.
  explicit Failures(int64_t limit) : limit_(limit) {}

  void OnReport() {
    reported_ = true;
    first_by_reason_.clear();
  }
  // A trial failed for good, when `created` trials existed.
  void Add(TrialNumber trial, Kind kind, const std::string& own_reason, int64_t created) {
    // The reasons of some kinds differ from trial to trial, by the last line or the level: they count as one.
    std::string reason = own_reason;
    if (kind == Kind::kDiverged || kind == Kind::kWithoutValue)
      reason = shared_.try_emplace(kind, own_reason).first->second;
    FailureCount& same = by_reason_[reason];
    same.first = ++same.trials == 1 ? trial : std::min(same.first, trial);
    if (kind == Kind::kOfMachines || reported_ || limit_ == 0 || awaited_ > 0) return;
    if (++first_by_reason_[reason] == limit_ || ++first_ == kTimesForAnyReason * limit_) awaited_ = created;
  }

  const std::map<std::string, FailureCount>& by_reason() const { return by_reason_; }
  // When max_first_failures was reached, trials up to this number existed, and each of them may still report.
  // 0: it was not reached, or a trial has reported since.
  int64_t awaited() const { return reported_ ? 0 : awaited_; }

  bool operator==(const Failures&) const = default;

 private:
  int64_t limit_ = 0;
  std::map<Kind, std::string> shared_;
  std::map<std::string, FailureCount> by_reason_;
  std::map<std::string, int64_t> first_by_reason_;
  int64_t first_ = 0;
  int64_t awaited_ = 0;
  bool reported_ = false;
};

}  // namespace winnow
