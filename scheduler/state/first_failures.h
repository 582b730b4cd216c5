#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace winnow {

// What limits.max_first_failures looks at: the trials that their trainer has failed before any trial of the
// job reported a value. So many with the same words are the job's own fault; with different ones they may be
// bad configurations, and it takes more of them.
class FirstFailures {
 public:
  static constexpr int64_t kTimesForAnyWords = 4;

  // 0: no limit.
  explicit FirstFailures(int64_t limit) : limit_(limit) {}

  void OnReport() {
    reported_ = true;
    by_reason_.clear();
  }
  // A trial was ended by its trainer's own failures, the newest of `created` trials being of that number.
  void OnFailure(const std::string& reason, int64_t created) {
    if (reported_ || limit_ == 0 || awaited_ > 0) return;
    if (++by_reason_[reason] == limit_ || ++failures_ == kTimesForAnyWords * limit_) awaited_ = created;
  }

  // The trials up to this number had been created when the limit was reached, and each may yet report: 0 if
  // it was not, or if one has reported since.
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
