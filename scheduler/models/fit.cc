#include "scheduler/models/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "scheduler/models/lbfgs.h"
#include "scheduler/models/matern.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// A normal prior on a logarithm, and the bounds of the search.
struct Prior {
  double mean, deviation, lower, upper;

  // Minus the log density and its derivative.
  double Add(double at, double& gradient) const {
    const double z = (at - mean) / deviation;
    gradient += z / deviation;
    return z * z / 2;
  }
};

// Hvarfner's log-normal has location sqrt(2) + log(d)/2 and scale sqrt(3); its density by the length itself
// peaks at exp(location - scale^2), which is where a normal prior on the logarithm has to be centred.
Prior LengthPrior(Index columns, double spread) {
  const double mean = std::sqrt(2.0) + std::log(static_cast<double>(columns)) / 2 - 3;
  return {mean, spread, std::log(0.01), std::log(100.0)};
}
const Prior kWarpPrior{0, 0.5, std::log(0.2), std::log(5.0)};
const Prior kSignalPrior{0, 1, std::log(0.01), std::log(100.0)};
const Prior kMeanPrior{0, 0.5, -3, 3};

// The order of packed hyperparameters.
struct Layout {
  Index columns;
  const FitSettings& settings;

  Index a() const { return columns; }
  Index b() const { return 2 * columns; }
  Index signal() const { return 3 * columns; }
  Index noise() const { return 3 * columns + 1; }
  Index mean() const { return 3 * columns + 2; }
  Index size() const { return 3 * columns + 3; }

  Prior PriorOf(Index i) const {
    if (i < a()) return LengthPrior(columns, settings.length_spread);
    if (i < signal()) return kWarpPrior;
    if (i == signal()) return kSignalPrior;
    if (i == mean()) return kMeanPrior;
    return {std::log(settings.noise_median), settings.noise_spread, std::log(1e-10), std::log(2.0)};
  }
};

Hyperparameters Unpack(const VectorXd& packed, const Layout& layout) {
  const Index columns = layout.columns;
  return {{packed.head(columns).array().exp(), packed.segment(layout.a(), columns).array().exp(),
           packed.segment(layout.b(), columns).array().exp()},
          std::exp(packed[layout.signal()]),
          std::exp(packed[layout.noise()]),
          packed[layout.mean()]};
}

VectorXd Pack(const Hyperparameters& hyperparameters, const Layout& layout) {
  VectorXd packed(layout.size());
  packed << hyperparameters.warping.length.array().log(), hyperparameters.warping.a.array().log(),
      hyperparameters.warping.b.array().log(), std::log(hyperparameters.signal),
      std::log(hyperparameters.noise), hyperparameters.mean;
  return packed;
}

Observations Select(const Observations& all, int most) {
  if (all.count() <= most) return all;
  std::vector<Index> order(static_cast<size_t>(all.count()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](Index l, Index r) { return all.values[l] > all.values[r]; });
  std::vector<Index> chosen(order.begin(), order.begin() + most / 2);
  std::sort(order.begin() + most / 2, order.end());
  const Index others = all.count() - most / 2, places = most - most / 2;
  for (Index i = 0; i < places; ++i) chosen.push_back(order[most / 2 + i * others / places]);
  Observations selected{MatrixXd(most, all.points.cols()), VectorXd(most), VectorXd(most), {}};
  for (Index i = 0; i < most; ++i) {
    selected.points.row(i) = all.points.row(chosen[i]);
    selected.values[i] = all.values[chosen[i]];
    selected.variances[i] = all.variances[chosen[i]];
  }
  if (all.covariance.size() > 0) selected.covariance = all.covariance(chosen, chosen);
  return selected;
}

// The lower triangle of the inverse of a matrix with this Cholesky factor. Columns are taken a few at a time,
// since the inverse of the factor is a triangle too: a third of the work of solving for the identity.
MatrixXd LowerInverse(const MatrixXd& factor) {
  constexpr Index kColumns = 24;
  const Index count = factor.rows();
  MatrixXd root = MatrixXd::Identity(count, count), inverse = MatrixXd::Zero(count, count);
  for (Index first = 0; first < count; first += kColumns) {
    const Index below = count - first;
    auto columns = root.block(first, first, below, std::min(kColumns, below));
    factor.bottomRightCorner(below, below).triangularView<Eigen::Lower>().solveInPlace(columns);
  }
  for (Index first = 0; first < count; first += kColumns) {
    const Index below = count - first, width = std::min(kColumns, below);
    inverse.block(first, first, below, width).noalias() =
        root.bottomRightCorner(below, below).triangularView<Eigen::Lower>().transpose() *
        root.block(first, first, below, width);
  }
  return inverse;
}

// The sum over a symmetric matrix of the products with another one, of lower triangles.
double SumOfProducts(const MatrixXd& a, const MatrixXd& b) {
  double sum = -a.diagonal().dot(b.diagonal());
  for (Index j = 0; j < a.cols(); ++j)
    sum += 2 * a.col(j).tail(a.rows() - j).dot(b.col(j).tail(a.rows() - j));
  return sum;
}

}  // namespace

double MinusLogPosterior(const FeatureMap& map, const Observations& observations, const FitSettings& settings,
                         const VectorXd& packed, VectorXd& gradient) {
  const auto columns = static_cast<Index>(map.columns().size());
  const Layout layout{columns, settings};
  const Hyperparameters h = Unpack(packed, layout);
  const MatrixXd mapped = map.Map(observations.points, h.warping);
  // Only lower triangles of symmetric matrices are computed.
  const Matern matern = Matern::LowerWithin(mapped);
  MatrixXd covariance = h.signal * matern.value;
  covariance.diagonal().array() += h.noise + observations.variances.array();
  if (observations.covariance.size() > 0) covariance += observations.covariance;
  gradient = VectorXd::Zero(layout.size());
  const Eigen::LLT<Eigen::Ref<MatrixXd>> factorised(covariance);
  if (factorised.info() != Eigen::Success) return std::numeric_limits<double>::quiet_NaN();

  const VectorXd centred = observations.values.array() - h.mean;
  const VectorXd weights = factorised.solve(centred);
  double value = centred.dot(weights) / 2 + covariance.diagonal().array().log().sum();

  // dL = 1/2 tr(W dK) with W = K^-1 - weights weights' (Rasmussen and Williams 2006, equation 5.9).
  MatrixXd w = LowerInverse(covariance);
  w.selfadjointView<Eigen::Lower>().rankUpdate(weights, -1);
  const MatrixXd by_square = h.signal * w.cwiseProduct(matern.slope);
  const auto symmetric = by_square.selfadjointView<Eigen::Lower>();
  const VectorXd sums = symmetric * VectorXd::Ones(mapped.rows());
  const MatrixXd by_feature = 2 * (sums.asDiagonal() * mapped - symmetric * mapped);
  const Warping by_warping = map.Gradient(observations.points, h.warping, mapped, by_feature, settings.warp);
  gradient << by_warping.length, by_warping.a, by_warping.b, h.signal * SumOfProducts(w, matern.value) / 2,
      h.noise * w.trace() / 2, -weights.sum();
  for (Index i = 0; i < layout.size(); ++i) value += layout.PriorOf(i).Add(packed[i], gradient[i]);
  return value;
}

Hyperparameters Fit(const FeatureMap& map, const Observations& observations, const FitSettings& settings) {
  const Observations used = Select(observations, settings.most_points);
  const auto columns = static_cast<Index>(map.columns().size());
  const Layout layout{columns, settings};
  VectorXd lower(layout.size()), upper(layout.size()), usual(layout.size());
  for (Index i = 0; i < layout.size(); ++i) {
    const Prior prior = layout.PriorOf(i);
    const bool fixed = i >= layout.a() && i < layout.signal() &&
                       (!settings.warp || map.columns()[i % columns].categories > 0);
    usual[i] = prior.mean;
    lower[i] = fixed ? prior.mean : prior.lower;
    upper[i] = fixed ? prior.mean : prior.upper;
  }
  // Long lengths with noise explain a function by few columns, short ones without it by all.
  VectorXd smooth = usual;
  smooth.head(columns).array() += 1.5;
  smooth[layout.noise()] = std::log(0.1);
  std::vector<VectorXd> starts;
  if (settings.usual_starts || settings.start == nullptr) starts = {usual, smooth};
  if (settings.start != nullptr) starts.push_back(Pack(*settings.start, layout));

  const Differentiable objective = [&](const VectorXd& at, VectorXd& gradient) {
    return MinusLogPosterior(map, used, settings, at, gradient);
  };
  Minimum best{usual, std::numeric_limits<double>::infinity()};
  for (const VectorXd& start : starts) {
    const Minimum found =
        Minimize(objective, start.cwiseMax(lower).cwiseMin(upper), lower, upper, settings.evaluations);
    if (found.value < best.value) best = found;
  }
  return Unpack(best.at, layout);
}

}  // namespace winnow
