#include <cmath>
#include <cstdint>
#include <limits>

#include "trainers/common/exact_sum.h"
#include "trainers/gbdt/objective/metric.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

// The class that each row gets: the first of the largest margins, or by a probability of more than one half.
std::vector<int> PredictedClasses(const GbdtParameters& parameters, const Targets& targets,
                                  std::span<const float> margin) {
  const int64_t n = targets.rows;
  std::vector<int> predicted(n);
  if (!parameters.multi()) {
    std::vector<float> probability(n);
    MetricPredictions(parameters, margin, n, 0, n, probability.data());
    for (int64_t i = 0; i < n; ++i) predicted[i] = probability[i] > 0.5f ? 1 : 0;
    return predicted;
  }
  for (int k = 1; k < parameters.classes(); ++k) {
    for (int64_t i = 0; i < n; ++i) {
      if (margin[k * n + i] > margin[predicted[i] * n + i]) predicted[i] = k;
    }
  }
  return predicted;
}

}  // namespace

absl::StatusOr<double> ClassMetric(const GbdtParameters& parameters, const Targets& targets,
                                   std::span<const float> margin, Communicator* communicator) {
  const int64_t n = targets.rows;
  const std::vector<int> predicted = PredictedClasses(parameters, targets, margin);
  std::vector<float> weight(n, 1.0f);
  if (!targets.weight.empty()) weight = RowWeights(targets);
  const int classes = parameters.multi() ? parameters.classes() : 2;
  std::vector<double> right(n), gets(n), has(n);
  double sum = 0, present = 0;
  for (int k = 0; k < classes; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      // The part of the row that is of the class: a binary label may be between 0 and 1.
      const float label = targets.label[i];
      const float part = parameters.multi() ? (label == static_cast<float>(k) ? 1.0f : 0.0f)
                         : k == 1           ? label
                                            : 1.0f - label;
      has[i] = static_cast<double>(weight[i]) * static_cast<double>(part);
      gets[i] = predicted[i] == k ? static_cast<double>(weight[i]) : 0.0;
      right[i] = predicted[i] == k ? has[i] : 0.0;
    }
    const auto sums = ExactSums({right, gets, has}, communicator);
    if (!sums.ok()) return sums.status();
    const double all = (*sums)[1] + (*sums)[2];
    if (all == 0) continue;  // no row has or gets the class
    ++present;
    sum += 2 * (*sums)[0] / all;
  }
  return present == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / present;
}

}  // namespace winnow::gbdt
