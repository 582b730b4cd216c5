#pragma once

#include <vector>

#include "scheduler/state/standing.h"

namespace winnow {

// The feasible trials of a job with several objectives that no other dominates. Failed trials are left out;
// those that run take part with their newest values.
class TrialFront {
 public:
  // What `trial`, one of `trials`, counts has changed. O(size of the front); if a member has lost something,
  // the front is made anew from all trials.
  void Offer(const SearchSpec& spec, const std::vector<TrialState>& trials, const TrialState& trial);

  // By number; each with its newest standing.
  const std::vector<Standing>& members() const { return members_; }

  bool operator==(const TrialFront&) const = default;

 private:
  void Add(Standing standing);

  std::vector<Standing> members_;
};

}  // namespace winnow
