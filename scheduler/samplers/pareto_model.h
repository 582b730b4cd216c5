#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/models/gaussian_process.h"
#include "scheduler/models/hypervolume_improvement.h"
#include "scheduler/samplers/gp_proposal.h"
#include "scheduler/samplers/trial_model.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// The search model of jobs with several objectives or metric constraints: an independent Gaussian process
// (samplers/trial_model.h) for each objective, for each constraint, and for whether a trial fails. What a
// configuration is worth is the expected improvement of the hypervolume, on the scales of the processes,
// times the chance that all constraints are satisfied and the trial does not fail (Daulton et al. 2020;
// Gelbart et al. 2014).
//
// A new configuration is worth what it adds to the front of what is expected: of the predicted ends of
// feasible trials, of trials that run, and of what paused ones have reached. The end of a paused trial is
// worth what it adds to the front of what has been reached: of the values that trials count now, and of what
// is expected of trials that run; less what the front loses if the trial is on it now and will be worse in an
// objective. So a paused trial that is on the expected front is trained to its end, and a second one beside
// it is not begun. With one objective both are the front of what is expected.
//
// The reference point of a front is made of the objectives' thresholds, and where one has none, of the worst
// value of the front, moved away by a tenth of the front's range. More than kMostFront points are thinned to
// the best spread, since the boxes of the improvement grow with their number. Values keep their proportions
// (TransformPower::kOne), since volumes are products of them.
class ParetoModel : public Desire {
 public:
  explicit ParetoModel(const JobState& state, TrialModel::Basis basis = TrialModel::Basis::kAll);

  // No trial has given finite values of all objectives: nothing below may be asked.
  bool empty() const { return improvement_ == nullptr; }
  // How many finite results of the first objective the model rests on.
  int64_t results() const { return objectives_[0]->results(); }
  // The trials of the job that the model rests on.
  const std::vector<TrialModel::Known>& known() const { return objectives_[0]->known(); }
  // What to record with the suggestion: of each model its length and FittedModel::Pack. Empty: nothing was
  // fitted again.
  std::vector<double> refitted() const;

  // What the models say of a point.
  struct Outlook {
    std::vector<Prediction> ends;  // of the objectives, in their processes' units
    double log_improvement = 0;    // of the expected improvement, times the chance of being feasible
    double chance = 0;             // of being feasible and adding to the hypervolume
    double chance_of_feasible = 1;
  };
  // What a new trial there is worth.
  Outlook OutlookOf(const Eigen::VectorXd& point) const;
  // What the ends of trials of the job are worth, given their places in known().
  std::vector<Outlook> OutlooksOfKnown(const std::vector<size_t>& places) const;
  // "expected auc 0.78, size 12 at resource 81, 23 % chance to add to the front".
  std::string Expectation(const Outlook& outlook) const;

  const UnitPoints& points() const override { return objectives_[0]->points(); }
  // The expected front in the order of its spread, then the other trials, the least violation first.
  std::vector<Eigen::VectorXd> BestFirst() const override;
  size_t centres() const override { return 10; }  // a front is long
  Eigen::VectorXd Scores(const Eigen::MatrixXd& points) const override;
  Acquisition ScoreOf(const Eigen::VectorXd& point) const override;

 private:
  // A constraint's model, and the bound in the units of its process: more is better.
  struct Bounded {
    std::unique_ptr<TrialModel> model;
    double bound = 0;
  };
  // The chance that a normal value is above a bound, as a part of the chance of being feasible.
  struct Gate {
    const GaussianProcess* process = nullptr;
    double bound = 0;
  };

  void AddModels(TrialModel::Basis basis);
  void AddCrashes();
  void FindFronts();
  // A front, its best spread first, and what is an improvement on it. More is better.
  struct Front {
    std::vector<size_t> kept;  // of the points given, those that count
    std::vector<std::vector<double>> points;
    std::vector<double> reference;
    std::unique_ptr<HypervolumeImprovement> improvement;
  };
  // The front of these points, less is better.
  Front FrontOf(const std::vector<ObjectivePoint>& keys) const;
  // If a trial is on the front that has been reached, and is expected to become surely worse in an objective,
  // its end takes the place of what it counts now: it is worth what it adds less what the front loses. Of
  // other ends this is not taken off: what is expected of them errs more than they differ from what is there.
  void TakePlace(const Front& front, TrialNumber trial, Outlook& outlook) const;
  std::vector<Outlook> OutlooksOf(const Eigen::MatrixXd& points,
                                  const HypervolumeImprovement& improvement) const;
  std::vector<Gate> Gates() const;
  // For every row of `points`, the logarithm of its chance to pass all gates.
  Eigen::VectorXd LogFeasible(const Eigen::MatrixXd& points) const;

  const JobState& state_;
  const std::vector<Objective> goals_;
  std::vector<std::unique_ptr<TrialModel>> objectives_;
  std::vector<Bounded> constraints_;
  std::unique_ptr<GaussianProcess> crashes_;  // 1: the trial did not fail, -1: it failed; null: none did
  std::unique_ptr<HypervolumeImprovement> improvement_;  // on what is expected
  std::vector<Eigen::VectorXd> front_;  // the points of the expected front, in the order of their spread
  std::vector<ObjectivePoint>
      reached_;  // less is better; what has been reached, and what running trials will
};

}  // namespace winnow
