#include "worker/gbdt/metric.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "worker/gbdt/fixed_point.h"
#include "worker/gbdt/objective.h"

namespace winnow {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Unsigned keys in the order of the floats; -0 and 0 are one value.
uint32_t OrderedKey(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Positives and negatives of one group of equal predictions, in fixed point.
struct TieGroup {
  int64_t positive = 0, negative = 0;
};

// Groups in descending order of prediction, for labels that are 0 or 1 and no weights: two sorts of bare keys
// and a merge, several times faster than sorting rows.
std::vector<TieGroup> PlainGroups(const DataSet& data, const std::vector<float>& margin) {
  std::vector<uint32_t> keys[2], scratch;
  std::size_t count[2] = {0, 0};
  keys[0].resize(data.rows);
  keys[1].resize(data.rows);
  for (int64_t i = 0; i < data.rows; ++i) {
    const bool positive = data.label[i] == 1.0f;
    keys[0][count[0]] = keys[1][count[1]] = OrderedKey(margin[i]);
    count[0] += !positive;
    count[1] += positive;
  }
  keys[0].resize(count[0]);
  keys[1].resize(count[1]);
  RadixSort(&keys[0], &scratch);
  RadixSort(&keys[1], &scratch);
  std::vector<TieGroup> groups;
  groups.reserve(data.rows);
  auto negative = keys[0].rbegin(), positive = keys[1].rbegin();
  while (negative != keys[0].rend() || positive != keys[1].rend()) {
    const uint32_t next =
        std::max(negative == keys[0].rend() ? 0 : *negative, positive == keys[1].rend() ? 0 : *positive);
    TieGroup group;
    for (; negative != keys[0].rend() && *negative == next; ++negative) ++group.negative;
    for (; positive != keys[1].rend() && *positive == next; ++positive) ++group.positive;
    groups.push_back(group);
  }
  return groups;
}

// The same for any weights; a label between 0 and 1 counts in part as each, as in XGBoost.
std::vector<TieGroup> WeightedGroups(const DataSet& data, const std::vector<float>& margin) {
  std::vector<int64_t> order(data.rows);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return margin[a] > margin[b]; });
  const float heaviest = data.weight.empty() ? 1 : *std::max_element(data.weight.begin(), data.weight.end());
  int bits = 62;
  for (int64_t n = data.rows; n > 0; n >>= 1) --bits;
  const double scale = std::ldexp(1.0, ScaleExponent(heaviest, std::min(bits, 40)));
  std::vector<TieGroup> groups;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || margin[order[i]] != margin[order[i - 1]]) groups.emplace_back();
    const double weight = data.weight.empty() ? 1.0 : data.weight[order[i]];
    const double label = data.label[order[i]];
    groups.back().positive += static_cast<int64_t>(weight * label * scale);
    groups.back().negative += static_cast<int64_t>(weight * (1 - label) * scale);
  }
  return groups;
}

std::vector<TieGroup> GroupsOf(const DataSet& data, const std::vector<float>& margin) {
  const bool plain = data.weight.empty() && std::all_of(data.label.begin(), data.label.end(),
                                                        [](float label) { return label == 0 || label == 1; });
  return plain ? PlainGroups(data, margin) : WeightedGroups(data, margin);
}

double AreaUnderRoc(const std::vector<TieGroup>& groups) {
  double area = 0;
  int64_t positives = 0, negatives = 0;
  for (const TieGroup& group : groups) {
    area += static_cast<double>(group.negative) *
            (static_cast<double>(positives) + 0.5 * static_cast<double>(group.positive));
    positives += group.positive;
    negatives += group.negative;
  }
  if (positives == 0 || negatives == 0) return kNaN;
  return area / (static_cast<double>(positives) * static_cast<double>(negatives));
}

// The area under the interpolated precision-recall curve (Davis and Goadrich, ICML 2006; Boyd, Eng and Page
// 2013), as XGBoost computes it.
double AreaUnderPrecisionRecall(const std::vector<TieGroup>& groups) {
  double total = 0, negatives = 0;
  for (const TieGroup& group : groups) {
    total += static_cast<double>(group.positive);
    negatives += static_cast<double>(group.negative);
  }
  if (total == 0 || negatives == 0) return kNaN;
  double area = 0, tp_before = 0, fp_before = 0;
  for (const TieGroup& group : groups) {
    const double tp = tp_before + static_cast<double>(group.positive);
    const double fp = fp_before + static_cast<double>(group.negative);
    if (tp > tp_before) {
      const double h = (fp - fp_before) / (tp - tp_before);
      const double a = 1 + h;
      const double b = (fp_before - h * tp_before) / total;
      const double from = tp_before / total, to = tp / total;
      area += b == 0 ? (to - from) / a
                     : (to - from - b / a * (std::log(a * to + b) - std::log(a * from + b))) / a;
    }
    tp_before = tp;
    fp_before = fp;
  }
  return area;
}

double RowLogLoss(float label, float prediction) {
  constexpr float kEps = 1e-16f;
  const double p = std::max(prediction, kEps), q = std::max(1.0f - prediction, kEps);
  if (label == 1.0f) return -std::log(p);
  if (label == 0.0f) return -std::log(q);
  return -static_cast<double>(label) * std::log(p) - (1.0 - static_cast<double>(label)) * std::log(q);
}

double RowLoss(const Metric& metric, ObjectiveKind objective, float label, float margin) {
  const bool logistic = objective != ObjectiveKind::kSquaredError;
  const double residue = static_cast<double>(label) - (logistic ? Sigmoid(margin) : margin);
  switch (metric.kind) {
    case MetricKind::kLogLoss:
      return RowLogLoss(label, logistic ? Sigmoid(margin) : margin);
    case MetricKind::kError:
      return (logistic ? margin > 0 : margin > 0.5f) ? 1.0 - label : label;
    case MetricKind::kRmse:
      return residue * residue;
    case MetricKind::kMae:
      return std::fabs(residue);
    default:
      std::abort();
  }
}

double RowClassLoss(const Metric& metric, int64_t rows, int classes, float label, const float* margin) {
  int best = 0;
  for (int k = 1; k < classes; ++k) {
    if (margin[k * rows] > margin[best * rows]) best = k;
  }
  const int truth = static_cast<int>(label);
  if (metric == MetricKind::kMultiError) return best == truth ? 0 : 1;
  float sum = 0;
  for (int k = 0; k < classes; ++k) sum += PortableExp(margin[k * rows] - margin[best * rows]);
  const double probability = PortableExp(margin[truth * rows] - margin[best * rows]) / sum;
  return -std::log(std::max(probability, 1e-16));
}

}  // namespace

void RadixSort(std::vector<uint32_t>* keys, std::vector<uint32_t>* scratch) {
  constexpr int kBits = 11, kBuckets = 1 << kBits;
  if (keys->size() < 512) {
    std::sort(keys->begin(), keys->end());
    return;
  }
  scratch->resize(keys->size());
  std::array<std::array<uint32_t, kBuckets>, 3> counts{};
  for (uint32_t key : *keys) {
    for (int pass = 0; pass < 3; ++pass) ++counts[pass][(key >> (pass * kBits)) & (kBuckets - 1)];
  }
  for (int pass = 0; pass < 3; ++pass) {
    uint32_t sum = 0;
    for (uint32_t& count : counts[pass]) sum += std::exchange(count, sum);
    for (uint32_t key : *keys) (*scratch)[counts[pass][(key >> (pass * kBits)) & (kBuckets - 1)]++] = key;
    keys->swap(*scratch);
  }
}

bool HigherIsBetter(const Metric& metric) {
  return metric == MetricKind::kAuc || metric == MetricKind::kAucPr;
}

double EvaluateMetric(const Metric& metric, const GbdtParameters& parameters, const DataSet& data,
                      const std::vector<float>& margin) {
  if (data.rows == 0) return kNaN;
  if (metric == MetricKind::kAuc) return AreaUnderRoc(GroupsOf(data, margin));
  if (metric == MetricKind::kAucPr) return AreaUnderPrecisionRecall(GroupsOf(data, margin));
  std::vector<double> losses(data.rows);
  const bool multi = metric == MetricKind::kMultiLogLoss || metric == MetricKind::kMultiError;
  double total_weight = static_cast<double>(data.rows);
  for (int64_t i = 0; i < data.rows; ++i) {
    losses[i] = multi
                    ? RowClassLoss(metric, data.rows, parameters.classes(), data.label[i], margin.data() + i)
                    : RowLoss(metric, parameters.objective, data.label[i], margin[i]);
  }
  if (!data.weight.empty()) {
    for (int64_t i = 0; i < data.rows; ++i) losses[i] *= data.weight[i];
    const std::vector<double> weights(data.weight.begin(), data.weight.end());
    total_weight = OrderFreeSum(weights.data(), weights.size());
  }
  const double mean = OrderFreeSum(losses.data(), losses.size()) / total_weight;
  return metric == MetricKind::kRmse ? std::sqrt(mean) : mean;
}

}  // namespace winnow
