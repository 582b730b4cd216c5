#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "scheduler/models/end_model.h"
#include "scheduler/models/gaussian_process.h"
#include "scheduler/models/output_transform.h"
#include "scheduler/samplers/unit_points.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// What a model is fitted to be, as Suggested::model records it.
struct FittedModel {
  int64_t work = 0;  // results it was fitted to: trials, and rungs they reached
  Hyperparameters hyperparameters;
  std::vector<GainFit> gains;  // per step to a next rung

  // From what Pack gave for a space of so many parameters and so many steps between rungs. Absent: there is
  // none, or it was packed by a version whose models have other numbers.
  static std::optional<FittedModel> Unpack(const std::vector<double>& packed, size_t parameters,
                                           size_t steps);
  std::vector<double> Pack() const;
};

// A Gaussian process over configurations, fitted to a job's trials. A trial that was trained part of the way
// counts with its predicted value at the last rung and the uncertainty of the prediction (models/end_model.h;
// freeze-thaw Bayesian optimisation, Swersky, Snoek and Adams, arXiv 1406.3896, section 3). Without rungs,
// each ended trial counts with its value. Curves are those of ForEachCounted.
//
// Trials that run without a result count as if they gave what the model expects ("kriging believer",
// Ginsbourger et al. 2010), so that parallel suggestions differ. Failed trials count as the worst. Results of
// each earlier job count with a larger error, an offset and a difference of their own (samplers/transfer.h).
// The model is a function of the state alone: its hyperparameters are those recorded with the last
// suggestion, and are fitted again when there are a tenth more results. The cost stops growing at
// kMostTrials, which are chosen.
class TrialModel {
 public:
  static constexpr size_t kMostTrials = 200;

  // kFinished: only trials that have reached the last rung, always fitted again, so that predictions of other
  // trials cannot mislead it.
  enum class Basis { kAll, kFinished };
  explicit TrialModel(const JobState& state, Basis basis = Basis::kAll);

  // One of several metrics that rank trials.
  struct Metric {
    int64_t index = 0;  // Reported::metric
    double sign = 1;    // value * sign is better if more
    // For a constraint: each trial counts with its newest value, as if that were the last.
    bool newest = false;
    std::vector<double> recorded;  // FittedModel::Pack of the last fit; empty: none
    std::vector<double>
        preference;  // by trial number - 1: of too many, those of more are kept; empty: by value
    TransformPower power = TransformPower::kFitted;
    double worthless = -std::numeric_limits<double>::infinity();  // OutputTransform's, times `sign`
  };
  // The model of one metric alone. Failed trials take no part.
  TrialModel(const JobState& state, Basis basis, const Metric& metric);

  // No trial has given a finite value: nothing below may be asked.
  bool empty() const { return process_ == nullptr; }

  const UnitPoints& points() const { return points_; }
  const GaussianProcess& process() const { return *process_; }
  // The best known value in the process's units, with the noise smoothed out: over all levels of a trial, or
  // where only the last value or the mean counts, at its highest rung.
  double best() const { return best_; }
  // The same, or what a trial that runs without a result is expected to give, if that is better.
  double bar() const { return bar_; }
  // What a trial with this end would report there: with the noise of reports.
  Prediction ReportOf(const Prediction& end) const {
    return {end.mean, end.variance + process_->hyperparameters().noise};
  }
  // Converts between the process's units and values of the objective.
  double ToObjective(double value) const;
  double FromObjective(double objective) const;

  // What the process says of a trial of the job that is part of it.
  struct Known {
    TrialNumber trial = 0;
    Eigen::VectorXd point;
    Prediction end;  // of one of several metrics the mean alone: its variance is not worth its cost
  };
  const std::vector<Known>& known() const { return known_; }
  // How many finite results the model rests on.
  int64_t results() const { return results_; }

  const FittedModel& fitted() const { return fitted_; }
  // What to record with the suggestion; empty: nothing was fitted again that later suggestions use.
  std::vector<double> refitted() const {
    return refitted_ && basis_ == Basis::kAll ? fitted_.Pack() : std::vector<double>();
  }

 private:
  // A trial that has reached a rung.
  struct Seen {
    TrialNumber trial = 0;
    const Configuration* configuration = nullptr;
    SeenCurve curve;
    double error = 0;  // standard error of the curve's last value; known of means over repeats
  };
  // A result at the last rung, with the variance of its error; absent: as bad as the worst.
  struct Fixed {
    const Configuration* configuration = nullptr;
    std::optional<double> value;
    double error = 0;
  };
  struct Results {
    std::vector<Seen> seen;
    std::vector<Fixed> fixed;
    std::vector<Eigen::Index> sources;  // how many of `fixed` are from each earlier job, in their order
    int64_t work = 0;
  };

  void Build(const JobState& state);
  // Only the newest value of a trial's curve counts. Without rungs `levels` is empty.
  bool IsOneValue(const std::vector<int64_t>& levels) const {
    return metric_ && (metric_->newest || (levels.empty() && metric_->index > 0));
  }
  // How many rungs the curve has reached, at O(1); 0: it does not count. CurveOf may still have no point.
  size_t RungsOf(const TrialState& trial, const std::vector<int64_t>& levels) const;
  SeenCurve CurveOf(const TrialState& trial, const std::vector<int64_t>& levels) const;
  Results ResultsOf(const JobState& state, const std::vector<int64_t>& levels) const;
  void Fit(const Results& results, const std::vector<int64_t>& levels);
  // Puts the results of each earlier job on unit spread, and adds what they have in common that is not the
  // job's own (samplers/transfer.h).
  void AddSources(const Results& results, const FeatureMap& map, Eigen::Index seen,
                  Observations& observations) const;
  // Trials that run and have shown nothing yet.
  void AddPending(const JobState& state);

  Basis basis_;
  std::optional<Metric> metric_;  // absent: the job's only objective
  ObjectiveValue counts_;
  double sign_ = 1;  // objective * sign is better if more
  UnitPoints points_;
  FittedModel fitted_;
  bool refitted_ = false;
  std::optional<OutputTransform> transform_;
  double centre_ = 0, spread_ = 1;  // of the predicted ends, on the transform's scale
  std::unique_ptr<GaussianProcess> process_;
  double best_ = 0, bar_ = 0;
  int64_t results_ = 0;
  std::vector<Known> known_;
};

}  // namespace winnow
