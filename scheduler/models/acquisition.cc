#include "scheduler/models/acquisition.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scheduler/models/normal.h"

namespace winnow {
namespace {

using Eigen::VectorXd;

// Below it the density and cdf lose too many digits against each other.
constexpr double kTail = -5;
constexpr double kLeastVariance = 1e-18;

// h(z) / density(z) for z < kTail, by the continued fraction of Mills' ratio m(x) with x = -z: 1 - x m(x).
// With m = 1 / (x + t), t = 1 / (x + 2 / (x + 3 / …)), it is t m, a product without cancellation.
struct Tail {
  double over_density;  // h / density
  double ratio;         // cdf / density
};
Tail TailOf(double z) {
  constexpr int kTerms = 28;  // full precision from x = 5 on
  const double x = -z;
  double fraction = 0;
  for (int k = kTerms; k >= 2; --k) fraction = k / (x + fraction);
  const double t = 1 / (x + fraction);
  const double ratio = 1 / (x + t);
  return {t * ratio, ratio};
}

}  // namespace

double ImprovementOf(double z) {
  return z > kTail ? NormalDensity(z) + z * NormalCdf(z) : NormalDensity(z) * TailOf(z).over_density;
}

double LogImprovement(double z) {
  if (z > kTail) return std::log(ImprovementOf(z));
  return -z * z / 2 - std::log(2 * std::numbers::pi) / 2 + std::log(TailOf(z).over_density);
}

double LogImprovementSlope(double z) {
  if (z > kTail) return NormalCdf(z) / (NormalDensity(z) + z * NormalCdf(z));
  const Tail tail = TailOf(z);
  return tail.ratio / tail.over_density;
}

double LogNormalCdf(double z) {
  if (z > kTail) return std::log(NormalCdf(z));
  return -z * z / 2 - std::log(2 * std::numbers::pi) / 2 + std::log(TailOf(z).ratio);
}

double LogNormalCdfSlope(double z) {
  return z > kTail ? NormalDensity(z) / NormalCdf(z) : 1 / TailOf(z).ratio;
}

double LogExpectedImprovement(const Prediction& prediction, double best) {
  const double deviation = std::sqrt(std::max(prediction.variance, kLeastVariance));
  return LogImprovement((prediction.mean - best) / deviation) + std::log(deviation);
}

Acquisition LogExpectedImprovement(const GaussianProcess& process, const VectorXd& point, double best) {
  VectorXd by_mean, by_variance;
  const Prediction prediction = process.Predict(point, by_mean, by_variance);
  const double deviation = std::sqrt(std::max(prediction.variance, kLeastVariance));
  const double z = (prediction.mean - best) / deviation;
  const double slope = LogImprovementSlope(z);
  const VectorXd by_deviation = by_variance / (2 * deviation);
  return {LogImprovement(z) + std::log(deviation),
          slope / deviation * by_mean + (1 - z * slope) / deviation * by_deviation};
}

}  // namespace winnow
