#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scheduler/types.h"

namespace winnow {

// What has reached a rung, with the best floor(n / eta) of its n values told apart. Each call is O(log n). A
// value is given as a key, less is better, equal ones by lower number; one that is not finite counts among n
// but is never of the best.
class TopShare {
 public:
  explicit TopShare(int64_t reduction_factor) : reduction_factor_(reduction_factor) {}

  void Add(double key, TrialNumber number);
  // It is not to be promoted from here, or not any more.
  void Take(TrialNumber number);

  int64_t size() const { return size_; }
  bool IsTop(TrialNumber number) const;
  // The best that is among the top and was not taken.
  std::optional<TrialNumber> best_waiting() const;
  // How many of the values are better than the trial's. O(n): for explanations.
  int64_t Rank(TrialNumber number) const;
  // The worst key of the top; absent: the top is empty.
  std::optional<double> cutoff() const;

  bool operator==(const TopShare&) const = default;

 private:
  using Entry = std::pair<double, TrialNumber>;
  void Settle();

  int64_t reduction_factor_;
  int64_t size_ = 0;
  std::set<Entry> top_, rest_;  // finite ones
  std::set<Entry> waiting_;     // of top_, not taken
  std::map<TrialNumber, double> in_top_;  // their keys
  std::set<TrialNumber> taken_;
};

}  // namespace winnow
