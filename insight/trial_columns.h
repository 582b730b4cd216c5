#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "insight/axis_scale.h"
#include "scheduler/space/types.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// The data of one trial.
struct TrialEntry {
  TrialNumber number = 0;
  TrialPhase phase = TrialPhase::kPending;
  const Configuration* configuration = nullptr;
  double best = 0;  // the trial's value (TrialState::value); NaN: none
  int64_t resource = 0;
  int64_t bracket = -1;
  int64_t rung = 0;
  int32_t nodes = 1;
  int64_t end_us = 0;  // 0: it has not ended
  int64_t training_us = 0;
  int64_t trained_resource = 0;
  // The newest values of SearchSpec::RankingMetrics; NaN: none. Empty where that is one.
  std::vector<double> metrics;
  double violation = 0;         // TrialState::violation
};

// The trials of a job in columns, one per property; row i is trial i + 1. Not thread-safe.
class TrialColumns {
 public:
  explicit TrialColumns(const SearchSpec& spec);

  // Adds or replaces the trial. Rows never put are pending trials without values.
  void Put(const TrialEntry& entry);

  size_t size() const { return phase.size(); }
  size_t bytes() const;
  Goal goal() const { return goal_; }
  bool completed_first() const { return completed_first_; }
  const std::vector<AxisScale>& axes() const { return axes_; }

  // Returns the trial's value; NaN: none, or the trial has failed.
  double score(size_t row) const {
    return phase[row] == TrialPhase::kFailed ? std::numeric_limits<double>::quiet_NaN() : best[row];
  }
  // Whether score `a` precedes `b`: better, or present while `b` is not.
  bool Better(double a, double b) const {
    if (std::isnan(a)) return false;
    return std::isnan(b) || (goal_ == Goal::kMaximize ? a > b : a < b);
  }

  // Rows by score, best first, ties by lower number; those without a score are last. If the last value or the
  // mean counts, completed trials precede the others, as in JobState::best_trial.
  const std::vector<uint32_t>& Ranking() const;
  // The number of rows of Ranking with a score.
  size_t ranked() const;
  // Whether the trial has not failed, has a value, and violates no bound on a metric.
  bool can_be_best(size_t row) const { return !std::isnan(score(row)) && violation[row] <= 0; }
  // The first row of Ranking that can be the best; absent: none can.
  std::optional<uint32_t> BestRow() const;
  // The scores of all rows.
  std::vector<double> Scores() const;
  // Linear over the scores. A few extreme outliers are at the end of the axis.
  AxisScale ObjectiveAxis() const { return AxisOf(Scores()); }
  // ObjectiveAxis for other values of the objective, in any order; NaN: none.
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
  // By metric (TrialEntry::metrics), then row; none where trials are ranked by one.
  std::vector<std::vector<double>> metric;
  std::vector<double> violation;
  // By hyperparameter, then row; NaN where it is inactive.
  std::vector<std::vector<double>> number;    // AxisScale::NumberOf
  std::vector<std::vector<double>> position;  // AxisScale::PositionOf

 private:
  void Grow(size_t rows);
  Goal goal_;
  bool completed_first_;
  std::vector<AxisScale> axes_;
  mutable std::vector<uint32_t> ranking_;  // empty: to be computed
  mutable size_t ranked_ = 0;
};

}  // namespace winnow
