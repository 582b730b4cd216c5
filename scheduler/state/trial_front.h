#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/state/standing.h"

namespace winnow {

// The feasible trials of a job with several objectives that no other dominates. Failed trials are left out;
// those that run take part with their newest values.
class TrialFront {
 public:
  // The trial's newest standing, and whether it takes part with it (TakesPart). O(size of the front); if a
  // trial has lost something, that times how many of those that it guarded it no longer dominates.
  void Offer(Standing standing, bool takes_part);

  // By number; each with its newest standing.
  const std::vector<Standing>& members() const { return members_; }
  // How many comparisons of two trials all this took.
  int64_t compared() const { return compared_; }

  bool operator==(const TrialFront&) const = default;

 private:
  // A trial that takes part and is not on the front has a guard: another one that dominates it.
  struct Known {
    ObjectivePoint keys;    // empty: it does not take part
    TrialNumber guard = 0;  // 0: none
    std::vector<TrialNumber> guarded;

    bool operator==(const Known&) const = default;
  };
  Known& At(TrialNumber number) { return known_[static_cast<size_t>(number) - 1]; }
  bool IsOver(const ObjectivePoint& a, const ObjectivePoint& b);
  void Guard(TrialNumber number, TrialNumber by);
  void Place(Standing standing);

  std::vector<Standing> members_;
  std::vector<Known> known_;  // by number
  int64_t compared_ = 0;
};

}  // namespace winnow
