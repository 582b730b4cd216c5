#include "scheduler/models/rung_values.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "scheduler/models/quantile.h"

namespace winnow {
namespace {

using Points = std::vector<std::pair<int64_t, double>>;

constexpr size_t kLeastRough = 9;   // points of a curve from which its roughness is read
constexpr size_t kLeastWindow = 4;  // points of a line
constexpr size_t kMostWindow = 128;
// The median of a squared normal variable.
constexpr double kMedianOfSquare = 0.455;
constexpr double kLeastWeight = 1e-300;

// How many points are at or below the level.
size_t CountTo(const Points& points, int64_t level) {
  return static_cast<size_t>(
      std::upper_bound(points.begin(), points.end(), level,
                       [](int64_t at, const auto& point) { return at < point.first; }) -
      points.begin());
}

double ValueAt(const Points& points, int64_t level) {
  const size_t count = CountTo(points, level);
  return points[count == 0 ? 0 : count - 1].second;
}

// The level of RungValues::before.
int64_t LevelBefore(const std::vector<int64_t>& levels, size_t rung) {
  return rung == 0 ? 1 : std::max(levels[rung - 1], (2 * levels[rung] + 1) / 3);
}

// The variance of a report: second differences over the later two thirds of the longer curves, the median of
// all.
double NoiseVariance(const std::vector<SeenCurve>& curves) {
  std::vector<double> variances;
  for (const SeenCurve& curve : curves) {
    const Points& p = curve.points;
    if (p.size() < kLeastRough) continue;
    double sum = 0;
    size_t count = 0;
    const size_t stride = std::max<size_t>(1, p.size() / (2 * kMostWindow));
    for (size_t i = p.size() / 3; i + 4 < p.size(); i += stride, ++count) {
      constexpr double kSquares = 1 + 16 + 36 + 16 + 1;  // of the coefficients
      const double difference =
          p[i].second - 4 * p[i + 1].second + 6 * p[i + 2].second - 4 * p[i + 3].second + p[i + 4].second;
      sum += difference * difference / kSquares;
    }
    variances.push_back(sum / static_cast<double>(count));
  }
  return variances.empty() ? 0 : Quantile(variances, 0.5);
}

struct Line {
  double end = 0;     // its value at the last point
  double weight = 0;  // of the last point in it: the line's variance there, in those of a report
};

// Least squares over the logarithm of the level. REQUIRES kLeastWindow points.
Line FitLine(const Points& points, size_t first, size_t last) {
  const size_t stride = 1 + (last - first) / kMostWindow;
  std::vector<double> x, y;
  for (size_t i = last - 1;; i -= stride) {
    x.push_back(std::log(static_cast<double>(points[i].first)));
    y.push_back(points[i].second);
    if (i < first + stride) break;
  }
  const auto count = static_cast<double>(x.size());
  double mean = 0, squares = 0;
  for (const double at : x) mean += at / count;
  for (const double at : x) squares += (at - mean) * (at - mean);
  Line line;
  for (size_t i = 0; i < x.size(); ++i) {
    line.end += y[i] * (1 / count + (x[i] - mean) * (x[0] - mean) / squares);
  }
  line.weight = 1 / count + (x[0] - mean) * (x[0] - mean) / squares;
  return line;
}

// The newest third of the curve up to a level; absent: too few points.
std::optional<Line> LineTo(const Points& points, int64_t level) {
  const size_t last = CountTo(points, level), first = CountTo(points, level / 3);
  if (last < first + kLeastWindow) return std::nullopt;
  return FitLine(points, first, last);
}

}  // namespace

RungValues ReadRungs(const std::vector<int64_t>& levels, const SeenCurve& curve) {
  RungValues read;
  for (size_t k = 0; k < curve.rungs; ++k) {
    read.at.push_back(ValueAt(curve.points, levels[k]));
    read.before.push_back(ValueAt(curve.points, LevelBefore(levels, k)));
  }
  return read;
}

std::vector<RungValues> ReadRungs(const std::vector<int64_t>& levels, const std::vector<SeenCurve>& curves) {
  std::vector<RungValues> read;
  for (const SeenCurve& curve : curves) read.push_back(ReadRungs(levels, curve));
  const double noise = NoiseVariance(curves);
  for (size_t k = 0; k < levels.size(); ++k) {
    std::vector<std::optional<Line>> lines(curves.size());
    std::vector<double> differences, weights;
    for (size_t i = 0; i < curves.size(); ++i) {
      if (curves[i].rungs <= k) continue;
      lines[i] = LineTo(curves[i].points, levels[k]);
      if (!lines[i]) continue;
      differences.push_back(std::pow(lines[i]->end - read[i].at[k], 2));
      weights.push_back(lines[i]->weight);
    }
    // What lines and reports differ by beyond their noise is what a line gets wrong.
    double trust = 0;
    if (!differences.empty()) {
      const double expected = noise * (1 - Quantile(weights, 0.5));
      const double wrong = std::max(0.0, Quantile(differences, 0.5) / kMedianOfSquare - expected);
      trust = expected / (expected + wrong + kLeastWeight);
    }
    for (size_t i = 0; i < curves.size(); ++i) {
      if (lines[i]) read[i].at[k] += trust * (lines[i]->end - read[i].at[k]);
    }
  }
  return read;
}

}  // namespace winnow
