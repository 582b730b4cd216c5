#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace winnow {

// Where a learning curve is going: an ensemble of parametric curves, as Domhan, Springenberg and Hutter
// (IJCAI 2015) use, made cheap by fixing what is not linear. Each member is y = c + a f(x), with f one of
// x^-p (pow), e^(-q x) (exp), log(x)^p (log-power), 1 / (1 + (x / h)^p) (Hill), over a grid of p, q and h. It
// is fitted by Bayesian least squares with a normal-inverse-gamma prior in units of the curve's own range,
// and the members are weighted by their marginal likelihoods. The uncertainty of the prediction holds that of
// c and a, of the noise (from the residuals), of which member is right, and a drift that grows with log(level
// / last level), since real curves follow no formula.
struct CurvePrediction {
  double mean = 0;
  double deviation = 0;
  double chance_above = 0;  // that the value at the level is above the threshold
};

// The fewest finite points that a prediction is made of.
constexpr int64_t kLeastCurvePoints = 8;

// `curve`: (level, value) by rising level, all finite, at least kLeastCurvePoints; thinned to at most 64.
// REQUIRES level >= the last one's. About 20 microseconds.
CurvePrediction PredictCurve(const std::vector<std::pair<int64_t, double>>& curve, int64_t level,
                             double threshold);

}  // namespace winnow
