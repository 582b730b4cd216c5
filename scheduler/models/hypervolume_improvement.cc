#include "scheduler/models/hypervolume_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "scheduler/models/acquisition.h"
#include "scheduler/models/non_dominated.h"
#include "scheduler/models/normal.h"

namespace winnow {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastSquare = 1e-18;
constexpr double kLeastRest = 1e-12;  // of 1 - ratio, where two edges nearly coincide

double DeviationOf(const Prediction& value) { return std::sqrt(std::max(value.variance, kLeastSquare)); }

// The points that no other covers in the first `objectives` coordinates, cut to these.
std::vector<std::vector<double>> Projected(const std::vector<std::vector<double>>& points,
                                           size_t objectives) {
  std::vector<ObjectivePoint> negated;
  for (const std::vector<double>& point : points) {
    ObjectivePoint& one = negated.emplace_back();
    for (size_t i = 0; i < objectives; ++i) one.push_back(-point[i]);
  }
  std::sort(negated.begin(), negated.end());
  negated.erase(std::unique(negated.begin(), negated.end()), negated.end());
  std::vector<std::vector<double>> front;
  for (const size_t index : FirstFront(negated)) {
    std::vector<double>& point = front.emplace_back();
    for (const double coordinate : negated[index]) point.push_back(-coordinate);
  }
  return front;
}

// log(exp(a) - exp(b)), a >= b.
double LogDifference(double a, double b) {
  if (b == -kInfinity) return a;
  return a + std::log(std::max(-std::expm1(b - a), kLeastRest));
}

// Logarithms of the expected improvement of one objective over each of its edges, with their slopes.
struct Table {
  std::vector<double> log, by_mean, by_deviation;
};
Table TableOf(const Prediction& value, const std::vector<double>& edges) {
  const double deviation = DeviationOf(value);
  Table table;
  for (const double edge : edges) {
    if (edge == kInfinity) {
      table.log.push_back(-kInfinity);
      table.by_mean.push_back(0);
      table.by_deviation.push_back(0);
      continue;
    }
    const double z = (value.mean - edge) / deviation;
    const double slope = LogImprovementSlope(z);
    table.log.push_back(LogImprovement(z) + std::log(deviation));
    table.by_mean.push_back(slope / deviation);
    table.by_deviation.push_back((1 - z * slope) / deviation);
  }
  return table;
}

}  // namespace

HypervolumeImprovement::HypervolumeImprovement(const std::vector<std::vector<double>>& front,
                                               std::vector<double> reference) {
  std::vector<std::vector<double>> inside;
  for (const std::vector<double>& point : front) {
    bool better = true;
    for (size_t i = 0; i < reference.size(); ++i) better = better && point[i] > reference[i];
    if (better) inside.push_back(point);
  }
  for (size_t i = 0; i < reference.size(); ++i) {
    std::vector<double>& edges = edges_.emplace_back(std::vector<double>{reference[i], kInfinity});
    for (const std::vector<double>& point : inside) edges.push_back(point[i]);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  }
  Divide(Projected(inside, reference.size()), reference.size(), {});
}

int32_t HypervolumeImprovement::EdgeAt(size_t objective, double value) const {
  const std::vector<double>& edges = edges_[objective];
  return static_cast<int32_t>(std::lower_bound(edges.begin(), edges.end(), value) - edges.begin());
}

void HypervolumeImprovement::Divide(const std::vector<std::vector<double>>& points, size_t objectives,
                                    Box box) {
  const size_t last = objectives - 1;
  const auto top = static_cast<int32_t>(edges_[last].size()) - 1;
  if (last == 0) {
    double best = edges_[0].front();
    for (const std::vector<double>& point : points) best = std::max(best, point[0]);
    box.low[0] = EdgeAt(0, best);
    box.high[0] = top;
    boxes_.push_back(box);
    return;
  }
  // Slabs between the values of the last coordinate: in each, the points that reach above it leave less free.
  std::vector<double> levels = {edges_[last].front()};
  for (const std::vector<double>& point : points) levels.push_back(point[last]);
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  std::vector<std::vector<double>> open;  // of the slab that begins at box.low[last]
  const auto close = [&](int32_t high) {
    box.high[last] = high;
    Divide(open, last, box);
    box.low[last] = high;
  };
  box.low[last] = 0;
  for (size_t k = 0; k < levels.size(); ++k) {
    std::vector<std::vector<double>> above;
    for (const std::vector<double>& point : points) {
      if (point[last] > levels[k]) above.push_back(point);
    }
    above = Projected(above, last);
    if (k > 0 && above != open) close(EdgeAt(last, levels[k]));
    open = std::move(above);
  }
  close(top);
}

template <typename Above>
double HypervolumeImprovement::SumOverBoxes(const std::vector<Prediction>& values, const Above& above) const {
  std::vector<std::vector<double>> tables(edges_.size());
  for (size_t i = 0; i < edges_.size(); ++i) {
    tables[i].reserve(edges_[i].size());
    for (const double edge : edges_[i]) tables[i].push_back(edge == kInfinity ? 0 : above(values[i], edge));
  }
  double sum = 0;
  for (const Box& box : boxes_) {
    double product = 1;
    for (size_t i = 0; i < edges_.size(); ++i) {
      product *= std::max(
          0.0, tables[i][static_cast<size_t>(box.low[i])] - tables[i][static_cast<size_t>(box.high[i])]);
    }
    sum += product;
  }
  return sum;
}

double HypervolumeImprovement::LogExpected(const std::vector<Prediction>& values) const {
  // Below it products of improvements may have lost digits. Logarithms have all, at several times the cost.
  constexpr double kLeastExpected = 1e-200;
  const double expected = SumOverBoxes(values, [](const Prediction& value, double edge) {
    const double deviation = DeviationOf(value);
    return deviation * ImprovementOf((value.mean - edge) / deviation);
  });
  return expected > kLeastExpected ? std::log(expected) : LogExpectedOfTails(values);
}

double HypervolumeImprovement::LogExpectedOfTails(const std::vector<Prediction>& values) const {
  const size_t objectives = edges_.size();
  std::vector<std::vector<double>> tables(objectives);  // Table::log alone
  for (size_t i = 0; i < objectives; ++i) {
    const double deviation = DeviationOf(values[i]), scale = std::log(deviation);
    tables[i].reserve(edges_[i].size());
    for (const double edge : edges_[i]) {
      tables[i].push_back(edge == kInfinity ? -kInfinity
                                            : LogImprovement((values[i].mean - edge) / deviation) + scale);
    }
  }
  std::vector<double> logs;
  logs.reserve(boxes_.size());
  double most = -kInfinity;
  for (const Box& box : boxes_) {
    double sum = 0;
    for (size_t i = 0; i < objectives; ++i)
      sum += LogDifference(tables[i][box.low[i]], tables[i][box.high[i]]);
    logs.push_back(sum);
    most = std::max(most, sum);
  }
  double total = 0;
  for (const double log : logs) total += std::exp(log - most);
  return most + std::log(total);
}

double HypervolumeImprovement::LogExpected(const std::vector<Prediction>& values, VectorXd& by_mean,
                                           VectorXd& by_variance) const {
  const size_t objectives = edges_.size();
  std::vector<Table> tables;
  for (size_t i = 0; i < objectives; ++i) tables.push_back(TableOf(values[i], edges_[i]));
  std::vector<double> logs;
  double most = -kInfinity;
  for (const Box& box : boxes_) {
    double sum = 0;
    for (size_t i = 0; i < objectives; ++i)
      sum += LogDifference(tables[i].log[box.low[i]], tables[i].log[box.high[i]]);
    logs.push_back(sum);
    most = std::max(most, sum);
  }
  double total = 0;
  for (const double log : logs) total += std::exp(log - most);
  by_mean = VectorXd::Zero(static_cast<Index>(objectives));
  by_variance = VectorXd::Zero(static_cast<Index>(objectives));
  for (size_t b = 0; b < boxes_.size(); ++b) {
    const double weight = std::exp(logs[b] - most) / total;
    if (weight < 1e-15) continue;
    for (size_t i = 0; i < objectives; ++i) {
      const Table& table = tables[i];
      const auto low = static_cast<size_t>(boxes_[b].low[i]), high = static_cast<size_t>(boxes_[b].high[i]);
      const double ratio = std::exp(table.log[high] - table.log[low]);
      const double rest = std::max(1 - ratio, kLeastRest);
      const auto at = static_cast<Index>(i);
      by_mean[at] += weight * (table.by_mean[low] - ratio * table.by_mean[high]) / rest;
      by_variance[at] += weight * (table.by_deviation[low] - ratio * table.by_deviation[high]) / rest /
                         (2 * DeviationOf(values[i]));
    }
  }
  return most + std::log(total);
}

double HypervolumeImprovement::Chance(const std::vector<Prediction>& values) const {
  return std::clamp(
      SumOverBoxes(values, [](const Prediction& value,
                              double edge) { return NormalCdf((value.mean - edge) / DeviationOf(value)); }),
      0.0, 1.0);
}

}  // namespace winnow
