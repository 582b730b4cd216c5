#include "scheduler/samplers/transfer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "scheduler/models/matern.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A source's offset and difference from the job, in variances of the job's results.
constexpr double kOffset = 1;
constexpr double kMostDifference = 1000;  // then nothing is left of what the source says
// The part of the variance of the job's results that a source is believed to explain before there are any,
// and for how many results that counts.
constexpr double kUsualSaid = 0.9, kUsualResults = 2;
// The least part of that variance that is not taken for error.
constexpr double kLeastSignal = 0.25;

double VarianceOf(const VectorXd& values) {
  return (values.array() - values.mean()).square().sum() / static_cast<double>(values.size() - 1);
}

}  // namespace

std::vector<EarlierSource> SourcesOf(const std::vector<EarlierResult>& results, double sign, size_t most) {
  std::map<std::string, EarlierSource> by_name;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!std::isfinite(results[i].objective)) continue;
    by_name[results[i].source.substr(0, results[i].source.rfind(", "))].push_back(i);
  }
  std::vector<EarlierSource> sources;
  for (auto& [name, source] : by_name) {
    std::stable_sort(source.begin(), source.end(), [&](size_t a, size_t b) {
      return sign * results[a].objective > sign * results[b].objective;
    });
    const size_t count = std::max<size_t>(1, most / by_name.size());
    if (source.size() > count) {
      const size_t best = count / 2, rest = source.size() - best;
      EarlierSource chosen(source.begin(), source.begin() + static_cast<Index>(best));
      for (size_t k = 0; k < count - best; ++k) chosen.push_back(source[best + k * rest / (count - best)]);
      source = std::move(chosen);
    }
    sources.push_back(std::move(source));
    if (sources.size() == most) break;
  }
  return sources;
}

MatrixXd DifferenceOf(const FeatureMap& map, const Hyperparameters& hyperparameters, const Observations& own,
                      const Observations& source) {
  double said = kUsualSaid;
  const Index count = own.count();
  if (count >= 2) {
    const VectorXd means = GaussianProcess(map, hyperparameters, source).PredictAll(own.points).first;
    double error = hyperparameters.noise;  // of the job's results
    if (own.covariance.size() > 0) error += own.covariance.diagonal().mean();
    const double missed = std::max(0.0, VarianceOf(own.values - means) - error);
    const double all = VarianceOf(own.values);
    const auto results = static_cast<double>(count);
    const double seen = all > 0 ? 1 - missed / std::max(kLeastSignal * all, all - error) : 0;
    said = (kUsualResults * kUsualSaid + results * seen) / (kUsualResults + results);
  }
  const double difference = said > 0 ? std::min(kMostDifference, (1 - said) / said) : kMostDifference;
  const MatrixXd mapped = map.Map(source.points, hyperparameters.warping);
  MatrixXd covariance = difference * Matern::Values(mapped, mapped);
  covariance.array() += kOffset;
  return covariance;
}

}  // namespace winnow
