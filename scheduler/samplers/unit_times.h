#pragma once

#include <Eigen/Core>

#include "scheduler/models/feature_map.h"
#include "scheduler/samplers/unit_points.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// How long a unit of training takes by its configuration, where time alone limits the job: a search model
// then divides what it expects by seconds instead of units (expected improvement per second, Snoek,
// Larochelle and Adams 2012, section 3.2). Times are factors of the job's geometric mean, as logarithms.
//
// What was measured of each trial is JobState's; of others the logarithm is a linear function of the
// features of models/feature_map.h, learned by Bayesian regression (Rasmussen and Williams 2006, section
// 2.1).
class UnitTimes {
 public:
  static constexpr size_t kLeastTrials = 5;

  // Knows nothing, so that every factor is 1, where anything else than time limits the job, and before
  // kLeastTrials were measured. `points` has to outlive it.
  UnitTimes(const JobState& state, const UnitPoints& points);

  bool known() const { return slopes_.size() > 0; }
  // The logarithm of the factor that is expected for a configuration, given its point.
  double LogOf(const Eigen::VectorXd& point) const;
  // Adds `times` its derivative by the point's coordinates.
  void AddSlope(const Eigen::VectorXd& point, Eigen::VectorXd& gradient, double times) const;
  // The factor itself.
  double FactorOf(const Eigen::VectorXd& point) const;
  // The factor of a trial of the job at its point: what was measured counts the more the more units it was.
  double FactorOf(const TrialState& trial, const Eigen::VectorXd& point) const;

 private:
  Eigen::RowVectorXd FeaturesOf(const Eigen::VectorXd& point) const;

  const UnitPoints& points_;
  const FeatureMap map_;
  const Warping straight_;
  double centre_ = 0;          // mean of the logarithms of microseconds
  Eigen::RowVectorXd middle_;  // mean of the features
  Eigen::VectorXd slopes_;
};

}  // namespace winnow
