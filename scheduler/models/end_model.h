#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "scheduler/models/rung_values.h"

namespace winnow {

// How far gains from one rung to the next are from a linear function of the curve: variances of a part that
// is alike for like configurations, of one that is alike for like curves, and of the rest; how far apart
// curves are that are not alike; and from how many trials this was learned.
struct GainFit {
  int64_t pairs = 0;
  double alike = 0.02;
  double by_curve = 0.05;
  double length = 0.5;
  double rest = 0.003;

  bool operator==(const GainFit&) const = default;
};

// What trials will have reached at the last rung: means, and the variances of their errors.
struct Ends {
  Eigen::VectorXd means, variances;
};

// Predicts the ends of learning curves from their beginnings, rung by rung. The gain to the next rung is the
// sum of three functions, learned from the trials that have made the step: a linear one of the gain before
// it, of its newest part and of how the gains shrink (Bayesian linear regression, Rasmussen and Williams
// 2006, section 2.1), and a Gaussian process over configurations and one over the value and the gain so far
// (section 2.7). The last is what keeps predictions honest within a job: the trials that have made a step
// were chosen by their values, so that what they gained holds for trials with such values, and for others
// nothing is known. A trial several rungs away is carried on step by step with the gains predicted for it.
//
// `values`: of each trial, on a scale of about unit spread; `features`: a row per trial as FeatureMap gives
// it; `rungs`: how many there are. `gains` has one entry per step to a next rung: used as it is, but fitted
// anew where the trials that have made the step are kMoreTrials more than at its last fit; returns whether
// any was.
bool PredictEnds(const std::vector<RungValues>& values, const Eigen::MatrixXd& features, size_t rungs,
                 std::vector<GainFit>& gains, Ends& ends);

}  // namespace winnow
