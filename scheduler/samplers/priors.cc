#include "scheduler/samplers/priors.h"

#include <algorithm>
#include <cmath>

#include "scheduler/models/normal.h"
#include "scheduler/space/random.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

// By confidence.
constexpr double kDeviations[] = {0.5, 0.25, 0.125};
constexpr double kFavours[] = {2, 4, 8};  // of an unordered category

// Draws without a search model.
constexpr double kMostShare = 0.5;
constexpr double kFullDraws = 4;

// In search models: what a parameter's prior takes off at most, where it has its first weight; and for how
// many trials it has that.
constexpr double kMostOff = 3;
constexpr double kFullTrials = 10;
constexpr size_t kMostBestLooked = 20;  // and at most a third of the results
constexpr double kBelieved = 2;         // results that spoke for the priors before the first
constexpr double kNegligible = 0.005;

}  // namespace

PriorDensity::PriorDensity(Confidence confidence, double middle, int categories)
    : middle_(middle), categories_(categories) {
  const auto level = static_cast<size_t>(confidence);
  if (categories > 0) {
    others_ = 1 / kFavours[level];
    peak_ = categories / (1 + (categories - 1) * others_);
  } else {
    deviation_ = kDeviations[level];
    peak_ = NormalDensity(0) / (deviation_ * NormalInside(middle, deviation_));
  }
}

double PriorDensity::Shape(double at) const {
  if (categories_ > 0) return at == middle_ ? 1 : others_;
  const double z = (at - middle_) / deviation_;
  return std::exp(-z * z / 2);
}

double PriorDensity::Slope(double at) const {
  return categories_ > 0 ? 0 : -Shape(at) * (at - middle_) / (deviation_ * deviation_);
}

double PriorDensity::Quantile(double u) const {
  if (categories_ == 0) return TruncatedNormalQuantile(middle_, deviation_, u);
  const double chosen = peak_ / categories_;
  if (u < chosen) return middle_;
  const double other =
      std::min(std::floor((u - chosen) / (1 - chosen) * (categories_ - 1)), categories_ - 2.0);
  return other >= middle_ ? other + 1 : other;
}

Priors::Priors(const SearchSpace& space) : space_(space), points_(space) {
  Configuration values;
  for (const Parameter& parameter : space.parameters()) {
    values.push_back(parameter.prior ? parameter.prior->value : Value(Inactive{}));
    empty_ = empty_ && !parameter.prior;
  }
  values_ = space.ToUnit(values);
  densities_.resize(values.size());
  for (size_t j = 0; j < values.size(); ++j) {
    const auto& prior = space.parameters()[j].prior;
    if (!prior) continue;
    const int categories = points_.columns()[j].categories;
    const double middle = categories > 0 ? std::floor(values_[j] * categories) : values_[j];
    densities_[j].emplace(prior->confidence, middle, categories);
  }
}

Configuration Priors::Values() const { return space_.FromUnit(values_); }

Configuration Priors::Drawn(std::vector<double> unit) const {
  for (size_t j = 0; j < unit.size(); ++j) {
    if (!densities_[j]) continue;
    const int categories = points_.columns()[j].categories;
    const double drawn = densities_[j]->Quantile(unit[j]);
    unit[j] = categories > 0 ? (drawn + 0.5) / categories : drawn;
  }
  return space_.FromUnit(unit);
}

bool HasPriors(const SearchSpec& spec) {
  return std::any_of(spec.parameters.begin(), spec.parameters.end(),
                     [](const Parameter& parameter) { return parameter.prior.has_value(); });
}

bool DrawsFromPriors(const SearchSpec& spec, TrialNumber number) {
  const double share = kMostShare * std::min(1.0, kFullDraws / static_cast<double>(number));
  return HasPriors(spec) && RandomUnit(spec.seed, number, Purpose::kPrior, 0) < share;
}

PriorWeights::PriorWeights(const JobState& state, const UnitPoints& points, int64_t results,
                           const std::function<VectorXd(size_t)>& point_of)
    : priors_(points.known()), points_(points), weights_(points.columns().size(), 0.0) {
  if (priors_.empty()) return;
  const double trials = std::max(kFullTrials, static_cast<double>(state.trials().size()));
  std::vector<VectorXd> best;
  for (size_t i = 0; i < std::min(kMostBestLooked, (static_cast<size_t>(results) + 2) / 3); ++i) {
    best.push_back(point_of(i));
  }
  double parameters = 0;
  for (size_t j = 0; j < weights_.size(); ++j) {
    const auto& density = priors_.densities()[j];
    if (!density) continue;
    double sum = kBelieved, count = kBelieved;
    for (const VectorXd& point : best) {
      const double at = point[static_cast<Index>(j)];
      if (std::isnan(at)) continue;
      sum += density->At(at) / (density->At(at) + 1);
      count += 1;
    }
    const double believed = std::max(0.0, 2 * sum / count - 1) * kFullTrials / trials;
    weights_[j] = kMostOff * believed;
    strength_ += believed;
    parameters += 1;
  }
  strength_ /= parameters;
}

double PriorWeights::Log(const VectorXd& point) const {
  double off = 0;
  for (Index j = 0; strength_ > 0 && j < point.size(); ++j) {
    const auto& density = priors_.densities()[static_cast<size_t>(j)];
    if (density && !std::isnan(point[j]))
      off += weights_[static_cast<size_t>(j)] * (1 - density->Shape(point[j]));
  }
  return -off;
}

void PriorWeights::AddSlope(const VectorXd& point, VectorXd& gradient) const {
  for (Index j = 0; strength_ > 0 && j < point.size(); ++j) {
    const auto& density = priors_.densities()[static_cast<size_t>(j)];
    if (density && !std::isnan(point[j]))
      gradient[j] += weights_[static_cast<size_t>(j)] * density->Slope(point[j]);
  }
}

double PriorWeights::Draw(Index j, double u) const {
  const auto& density = priors_.densities()[static_cast<size_t>(j)];
  if (density) return density->Quantile(u);
  return points_.Place(j, u);
}

std::string PriorWeights::Text() const {
  if (strength_ < kNegligible) return "";
  return ", the job's priors at " + Percent(strength_, 0) + " of their first weight";
}

}  // namespace winnow
