#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "scheduler/models/rung_values.h"

namespace winnow {

// How far gains from one rung to the next are from what is expected of a trial by its own curve: variances of
// a part that is alike for like configurations, and of the rest; and from how many trials this was learned.
struct GainFit {
  int64_t pairs = 0;
  double alike = 0.02;
  double rest = 0.003;

  bool operator==(const GainFit&) const = default;
};

// What trials will have reached at the last rung: means, and how their errors vary together.
struct Ends {
  Eigen::VectorXd means;
  Eigen::MatrixXd covariance;
};

// Predicts the ends of learning curves from their beginnings, rung by rung: the gain to the next rung is a
// linear function of the gain before it, of its newest part and of how the gains shrink, with coefficients
// learned from the trials that have made the step (Bayesian linear regression, Rasmussen and Williams 2006,
// section 2.1), plus a Gaussian process over configurations (section 2.7). A trial several rungs away is
// carried on step by step with the gains predicted for it.
//
// `values`: of each trial, on a scale of about unit spread; `features`: a row per trial as FeatureMap gives
// it; `rungs`: how many there are. `gains` has one entry per step to a next rung: used as it is, but fitted
// anew where the trials that have made the step are kMoreTrials more than at its last fit; returns whether
// any was.
bool PredictEnds(const std::vector<RungValues>& values, const Eigen::MatrixXd& features, size_t rungs,
                 std::vector<GainFit>& gains, Ends& ends);

}  // namespace winnow
