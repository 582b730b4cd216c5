#include "scheduler/pruners/curve_ensemble.h"

#include <algorithm>
#include <cmath>

namespace winnow {
namespace {

constexpr size_t kMostPoints = 64;
// What came before this part of the last level says little about what comes.
constexpr int64_t kForgotten = 32;

// Prior, in units of the curve's range: both coefficients about kSpread of it, the noise about 3 %.
constexpr double kSpread = 3;
constexpr double kNoiseShape = 1.5, kNoiseScale = kNoiseShape * 0.03 * 0.03;
// Drift in units of the curve's range, per doubling of the level.
constexpr double kDrift = 0.2;
// A range of nothing (a flat curve) is this part of the value's magnitude.
constexpr double kLeastRange = 1e-3;

enum class Family { kPow, kExp, kLog, kHill };
struct Member {
  Family family;
  double exponent;
  double half = 0;  // of kHill: where half of the way is gone, as a part of the last level
};
constexpr Member kMembers[] = {
    {Family::kPow, 0.1},     {Family::kPow, 0.25},  {Family::kPow, 0.5},   {Family::kPow, 1},
    {Family::kPow, 2},       {Family::kExp, 0.3},   {Family::kExp, 1},     {Family::kExp, 2},
    {Family::kExp, 4},       {Family::kExp, 8},     {Family::kLog, 1},     {Family::kLog, 2},
    {Family::kHill, 1, 0.3}, {Family::kHill, 1, 1}, {Family::kHill, 1, 3}, {Family::kHill, 2, 0.3},
    {Family::kHill, 2, 1},   {Family::kHill, 2, 3},
};

// `x` as a part of the last level.
double Shape(const Member& member, double x, double last) {
  switch (member.family) {
    case Family::kPow:
      return -std::pow(x, -member.exponent);
    case Family::kExp:
      return -std::exp(-member.exponent * x);
    case Family::kHill:
      return -1 / (1 + std::pow(x / member.half, member.exponent));
    case Family::kLog:
      break;
  }
  return std::pow(std::log1p(x * last), member.exponent);
}

struct Points {
  std::vector<double> x, y;  // parts of the last level; values less the last one, in units of the range
  double last = 0, offset = 0, range = 0;
};

Points Thinned(const std::vector<std::pair<int64_t, double>>& curve) {
  const int64_t last = curve.back().first;
  size_t from = 0;
  while (curve.size() - from > static_cast<size_t>(2 * kLeastCurvePoints) &&
         curve[from].first < last / kForgotten) {
    ++from;
  }
  const size_t many = curve.size() - from;
  const size_t count = std::min(many, kMostPoints);
  Points points;
  points.last = static_cast<double>(last);
  points.offset = curve.back().second;
  double least = points.offset, most = points.offset;
  for (size_t k = 0; k < count; ++k) {
    const auto& [level, value] = curve[from + (count == 1 ? 0 : k * (many - 1) / (count - 1))];
    points.x.push_back(static_cast<double>(level) / points.last);
    points.y.push_back(value - points.offset);
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const double magnitude = std::max(std::abs(least), std::abs(most));
  points.range = std::max({most - least, kLeastRange * magnitude, 1e-300});
  for (double& y : points.y) y /= points.range;
  return points;
}

struct Predictive {
  double log_weight, mean, variance;
};

// Bayesian regression of y on (1, f): Murphy, Machine Learning (2012), section 7.6.3.
Predictive Fit(const Member& member, const Points& points, double x) {
  const size_t n = points.x.size();
  const double at_last = Shape(member, 1, points.last);
  const double unit = at_last - Shape(member, points.x[0], points.last);  // what it gained within the curve
  const auto f = [&](double at) { return (Shape(member, at, points.last) - at_last) / unit; };
  const double prior = 1 / (kSpread * kSpread);
  // The noise's prior scale makes the coefficients' spread one of the range: precision in units of the noise.
  const double precision = prior * kNoiseScale / kNoiseShape;
  double p00 = precision, p01 = 0, p11 = precision, b0 = 0, b1 = 0, yy = 0;
  for (size_t i = 0; i < n; ++i) {
    const double fi = f(points.x[i]), y = points.y[i];
    p00 += 1;
    p01 += fi;
    p11 += fi * fi;
    b0 += y;
    b1 += fi * y;
    yy += y * y;
  }
  const double determinant = p00 * p11 - p01 * p01;
  const double c = (p11 * b0 - p01 * b1) / determinant, a = (p00 * b1 - p01 * b0) / determinant;
  const double shape = kNoiseShape + 0.5 * static_cast<double>(n);
  const double scale = kNoiseScale + 0.5 * std::max(0.0, yy - c * b0 - a * b1);
  const double fx = f(x);
  const double leverage = (p11 - 2 * p01 * fx + p00 * fx * fx) / determinant;
  const double variance = scale / (shape - 1) * (1 + leverage);  // of Student's t
  return {-0.5 * std::log(determinant) - shape * std::log(scale), c + a * fx, variance};
}

double NormalAbove(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

}  // namespace

CurvePrediction PredictCurve(const std::vector<std::pair<int64_t, double>>& curve, int64_t level,
                             double threshold) {
  const Points points = Thinned(curve);
  const double x = static_cast<double>(level) / points.last;
  const double drift = kDrift * kDrift * std::log2(std::max(1.0, x));
  std::vector<Predictive> members;
  for (const Member& member : kMembers) members.push_back(Fit(member, points, x));
  double most = members[0].log_weight;
  for (const Predictive& m : members) most = std::max(most, m.log_weight);
  const double bar = (threshold - points.offset) / points.range;
  double total = 0, mean = 0, square = 0, above = 0;
  for (const Predictive& m : members) {
    const double weight = std::exp(m.log_weight - most);
    const double variance = m.variance + drift;
    total += weight;
    mean += weight * m.mean;
    square += weight * (variance + m.mean * m.mean);
    above += weight * NormalAbove((bar - m.mean) / std::sqrt(variance));
  }
  mean /= total;
  const double variance = std::max(0.0, square / total - mean * mean);
  return {points.offset + points.range * mean, points.range * std::sqrt(variance), above / total};
}

}  // namespace winnow
