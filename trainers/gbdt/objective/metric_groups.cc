#include "trainers/gbdt/objective/metric.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "trainers/common/exact_sum.h"
#include "trainers/gbdt/objective/lambda_gradients.h"
#include "trainers/gbdt/objective/metric_area.h"

namespace winnow::gbdt {
namespace {

constexpr std::size_t kFewestForAuc = 3;  // XGBoost's: two rows have only one pair

struct Group {
  std::span<const float> margin, label;

  std::size_t size() const { return label.size(); }
  // Returns labels by descending `by`; equals in their order.
  std::vector<float> LabelsBy(std::span<const float> by) const { return Sorted(label, by); }
  std::vector<float> MarginsByLabel() const { return Sorted(margin, label); }

 private:
  static std::vector<float> Sorted(std::span<const float> values, std::span<const float> by) {
    std::vector<uint32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [by](uint32_t a, uint32_t b) { return by[a] > by[b]; });
    std::vector<float> sorted(values.size());
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    return sorted;
  }
};

double Dcg(const std::vector<float>& labels, std::size_t first, bool exp_gain) {
  double dcg = 0;
  for (std::size_t i = 0; i < std::min(first, labels.size()); ++i)
    dcg += DcgGain(labels[i], exp_gain) * DcgDiscount(i);
  return dcg;
}

double Ndcg(const Group& group, std::size_t first, bool exp_gain, double otherwise) {
  const double ideal = Dcg(group.LabelsBy(group.label), first, exp_gain);
  return ideal == 0 ? otherwise : Dcg(group.LabelsBy(group.margin), first, exp_gain) / ideal;
}

double MeanPrecision(const Group& group, std::size_t first, double otherwise) {
  const std::vector<float> labels = group.LabelsBy(group.margin);
  double hits = 0, sum = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!(labels[i] > 0)) continue;
    ++hits;
    if (i < first) sum += hits / static_cast<double>(i + 1);
  }
  return hits == 0 ? otherwise : sum / hits;
}

double Precision(const Group& group, std::size_t first) {
  const std::vector<float> labels = group.LabelsBy(group.margin);
  const auto end = labels.begin() + static_cast<std::ptrdiff_t>(std::min(first, labels.size()));
  const auto hits = std::count_if(labels.begin(), end, [](float label) { return label > 0; });
  return static_cast<double>(hits) / static_cast<double>(first);
}

// Returns over all pairs i < j: 2 for each values[i] > values[j], 1 for each tie. Sorts `values` descending.
uint64_t PairsInOrder(std::span<float> values) {
  if (values.size() < 2) return 0;
  const std::span<float> left = values.first(values.size() / 2), right = values.subspan(values.size() / 2);
  uint64_t count = PairsInOrder(left) + PairsInOrder(right);
  auto above = right.begin(), not_below = right.begin();  // ends of the values above, and of those not below
  for (const float value : left) {
    above = std::find_if(above, right.end(), [value](float other) { return other <= value; });
    not_below =
        std::find_if(std::max(above, not_below), right.end(), [value](float other) { return other < value; });
    count += 2 * static_cast<uint64_t>(right.end() - not_below) + static_cast<uint64_t>(not_below - above);
  }
  std::inplace_merge(values.begin(), right.begin(), values.end(), std::greater<>());
  return count;
}

// As XGBoost, over all pairs of rows in order of their labels, those of equal labels in their order.
double PairedArea(const Group& group) {
  if (group.size() < kFewestForAuc) return kNoArea;
  std::vector<float> margins = group.MarginsByLabel();
  const auto pairs = static_cast<double>(group.size()) * (static_cast<double>(group.size()) - 1) / 2;
  return static_cast<double>(PairsInOrder(margins)) / 2 / pairs;
}

double ValueOf(const Metric& metric, const GbdtParameters& parameters, const Group& group) {
  const std::size_t first = metric.at ? static_cast<std::size_t>(*metric.at) : group.size();
  const double otherwise = metric.minus ? 0 : 1;  // for a group without relevant rows
  switch (metric.kind) {
    case Metric::kNdcg:
      return Ndcg(group, first, parameters.ndcg_exp_gain, otherwise);
    case Metric::kMap:
      return MeanPrecision(group, first, otherwise);
    case Metric::kPrecision:
      return first == 0 ? 0 : Precision(group, first);
    case Metric::kAuc:
      return PairedArea(group);
    default:
      return AreaUnderPrecisionRecall({group.margin, group.label, {}});
  }
}

}  // namespace

absl::StatusOr<double> GroupMetric(const Metric& metric, const GbdtParameters& parameters,
                                   const Targets& targets, std::span<const float> margin,
                                   Communicator* communicator) {
  const bool of_area = metric.kind == Metric::kAuc || metric.kind == Metric::kAucPr;
  std::vector<double> values, weights;
  for (std::size_t g = 0; g + 1 < targets.group_begin.size(); ++g) {
    const auto begin = static_cast<std::size_t>(targets.group_begin[g]);
    const std::size_t size = static_cast<std::size_t>(targets.group_begin[g + 1]) - begin;
    const double value =
        ValueOf(metric, parameters, {margin.subspan(begin, size), targets.label.subspan(begin, size)});
    if (of_area && std::isnan(value)) continue;
    weights.push_back(of_area || targets.weight.empty() ? 1.0 : static_cast<double>(targets.weight[g]));
    values.push_back(value * weights.back());
  }
  const auto sums = ExactSums({values, weights}, communicator);
  if (!sums.ok()) return sums.status();
  return (*sums)[1] == 0 ? kNoArea : (*sums)[0] / (*sums)[1];
}

}  // namespace winnow::gbdt
