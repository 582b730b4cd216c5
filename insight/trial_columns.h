#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "insight/axis_scale.h"
#include "scheduler/space/types.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// What is known of one trial.
struct TrialEntry {
  TrialNumber number = 0;
  TrialPhase phase = TrialPhase::kPending;
  const Configuration* configuration = nullptr;
  double best = 0;  // what it counts (TrialState::value); NaN: none
  int64_t resource = 0;
  int64_t bracket = -1;
  int64_t rung = 0;
  int32_t nodes = 1;
  int64_t end_us = 0;  // 0: has not ended
  int64_t training_us = 0;
  int64_t trained_resource = 0;
};

// The trials of a job, a column for each thing that is known of them; row i is trial i + 1. Not thread-safe.
class TrialColumns {
 public:
  explicit TrialColumns(const SearchSpec& spec);

  // Adds the trial, or replaces what was known of it. Rows that were never put are pending trials without
  // values.
  void Put(const TrialEntry& entry);

  size_t size() const { return phase.size(); }
  size_t bytes() const;
  Goal goal() const { return goal_; }
  bool completed_first() const { return completed_first_; }
  const std::vector<AxisScale>& axes() const { return axes_; }

  // What the trial counts, unless it has failed: then it counts nothing; NaN: nothing.
  double score(size_t row) const {
    return phase[row] == TrialPhase::kFailed ? std::numeric_limits<double>::quiet_NaN() : best[row];
  }
  // Whether score `a` is before `b`: better, or there while b is not.
  bool Better(double a, double b) const {
    if (std::isnan(a)) return false;
    return std::isnan(b) || (goal_ == Goal::kMaximize ? a > b : a < b);
  }

  // Rows by score, best first, ties by lower number; those without one come last. Where the last value or the mean
  // counts, completed trials come before the others, as for JobState::best_trial.
  const std::vector<uint32_t>& Ranking() const;
  // How many rows of Ranking have a score.
  size_t ranked() const;
  // Of all rows.
  std::vector<double> Scores() const;
  // Linear over the scores. A few that are very far off lie at the end of the axis.
  AxisScale ObjectiveAxis() const { return AxisOf(Scores()); }
  // The same over other values of the objective than the scores, in any order; NaN: none.
  AxisScale AxisOf(std::vector<double> values) const;

  std::vector<TrialPhase> phase;
  std::vector<double> best;
  std::vector<int64_t> resource;
  std::vector<int32_t> bracket;
  std::vector<int32_t> rung;
  std::vector<int32_t> nodes;
  std::vector<int64_t> end_us;
  std::vector<int64_t> training_us;
  std::vector<int64_t> trained_resource;
  // By hyperparameter, then row; NaN where it is not active.
  std::vector<std::vector<double>> number;    // AxisScale::NumberOf
  std::vector<std::vector<double>> position;  // AxisScale::PositionOf

 private:
  void Grow(size_t rows);
  Goal goal_;
  bool completed_first_;
  std::vector<AxisScale> axes_;
  mutable std::vector<uint32_t> ranking_;  // empty: to be made anew
  mutable size_t ranked_ = 0;
};

}  // namespace winnow
