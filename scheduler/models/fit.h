#pragma once

#include "scheduler/models/gaussian_process.h"

namespace winnow {

struct FitSettings {
  int most_points = 100;  // a fit is cubic in them
  int evaluations = 40;   // of the likelihood, per start
  bool warp = true;       // learn the warping of numeric columns
  // Log-normal priors of lengths (spread of the logarithm) and of the noise (median, spread of the
  // logarithm).
  double length_spread = 1.7320508;
  double noise_median = 1e-4, noise_spread = 2.5;
  // Searched from here too, for example from what an earlier fit found; null: from the usual starts alone.
  const Hyperparameters* start = nullptr;
  bool usual_starts = true;  // false: from `start` alone, if there is one
};

// The hyperparameters of highest posterior density. Priors: lengths are log-normal and grow with the square
// root of the number of columns (Hvarfner et al. 2024, Vanilla Bayesian Optimization Performs Great in High
// Dimensions); warpings are near straight, the noise is small. Beyond `most_points` a subset decides: the
// best half by value, and an even choice of the others in the order given. REQUIRES at least one observation,
// and values of about unit spread. The same inputs give the same bits.
Hyperparameters Fit(const FeatureMap& map, const Observations& observations,
                    const FitSettings& settings = {});

// Minus the log posterior density up to a constant, with its gradient by the packed hyperparameters (log
// lengths, log a, log b, log signal, log noise, mean). Without settings.warp it is 0 by log a and log b. For
// tests.
double MinusLogPosterior(const FeatureMap& map, const Observations& observations, const FitSettings& settings,
                         const Eigen::VectorXd& packed, Eigen::VectorXd& gradient);

}  // namespace winnow
