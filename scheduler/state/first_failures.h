#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace winnow {

// Counts the trials that their trainer failed before any trial of the job reported a value, for
// limits.max_first_failures. Failures with one message point to an error in the job itself. Failures with
// different messages may be bad configurations, so more of them are needed.
class FirstFailures {
 public:
  static constexpr int64_t kTimesForAnyWords = 4;

  // 0: no limit.
  explicit FirstFailures(int64_t limit) : limit_(limit) {}

  void OnReport() {
    reported_ = true;
    by_reason_.clear();
  }
  // The trainer failed a trial for good, when `created` trials existed.
  void OnFailure(const std::string& reason, int64_t created) {
    if (reported_ || limit_ == 0 || awaited_ > 0) return;
    if (++by_reason_[reason] == limit_ || ++failures_ == kTimesForAnyWords * limit_) awaited_ = created;
  }

  // When the limit was reached, trials up to this number existed, and each of them may still report. 0: the
  // limit was not reached, or a trial has reported since.
  int64_t awaited() const { return reported_ ? 0 : awaited_; }

  bool operator==(const FirstFailures&) const = default;

 private:
  int64_t limit_ = 0;
  std::map<std::string, int64_t> by_reason_;
  int64_t failures_ = 0;
  int64_t awaited_ = 0;
  bool reported_ = false;
};

}  // namespace winnow
