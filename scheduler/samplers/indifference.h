#pragma once

#include <Eigen/Core>
#include <vector>

#include "scheduler/samplers/unit_points.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// How far a configuration may move without changing anything. Where the nearest earlier trial gave the same
// reports to the bit, the difference between the two configurations had no effect: the trainer rounds it, or
// does not use it there. Trying it again is waste, although a smooth model expects something of it.
//
// The radius is the largest within which at least a third of the trials that have an earlier neighbour repeat
// its reports, and at least kLeastPairs do; 0: there is none. Only trials of the better half count, because
// where all fail alike, being the same says nothing. With several objectives there is no radius. Distances
// are the largest difference of a coordinate of UnitPoints; different categories are 1 apart. Of more than
// kMostTrials the newest count.
class Indifference {
 public:
  // `points` has to outlive it. O(n^2), n at most kMostTrials.
  Indifference(const JobState& state, const UnitPoints& points);

  double radius() const { return radius_; }

  // Whether an earlier trial that has reported is nearer than the radius. `point`: as UnitPoints gives it.
  bool IsNearKnown(const Eigen::VectorXd& point) const;

 private:
  static constexpr size_t kMostTrials = 400;
  static constexpr int kLeastPairs = 3;

  const UnitPoints& points_;
  std::vector<Eigen::VectorXd> known_;
  double radius_ = 0;
};

}  // namespace winnow
