#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/state/job_state.h"

namespace winnow {

// What repeats of a configuration have shown of noise (SearchSpec::repeats): a value is taken as the sum of
// its trial's mean, of what its repeat adds to all trials alike (a hard fold, an unlucky seed), and of an
// error. From the newest trials that have completed all their repeats: a two-way analysis of variance
// (Montgomery, Design and Analysis of Experiments, 8th edition, section 4.1).
class RepeatEffects {
 public:
  explicit RepeatEffects(const JobState& state);

  // Whether a trial has completed all its repeats; without one there is no error either.
  bool known() const { return freedom_ > 0; }

  // The mean of a trial's values without what their repeats add: comparable between trials of different
  // numbers of repeats. REQUIRES: the trial has a value.
  double MeanOf(const TrialState& trial) const;

  // The variance of the error of one value. With a single completed trial, its repeats cannot be told from
  // errors: then both together.
  double variance() const { return variance_; }
  // Degrees of freedom of the variance.
  int64_t freedom() const { return freedom_; }

 private:
  std::vector<double> effects_;  // by repeat; their mean is 0
  double variance_ = 0;
  int64_t freedom_ = 0;
};

// The standard error of the mean of a trial's values, from these values alone; 0: fewer than two.
double StandardError(const Curve& curve);

}  // namespace winnow
