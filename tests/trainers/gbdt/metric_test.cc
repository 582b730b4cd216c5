#include "trainers/gbdt/objective/metric.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/table_targets.h"
#include "trainers/gbdt/bins/radix_sort.h"

namespace winnow::gbdt {
namespace {

double ValueOf(MetricKind metric, std::vector<float> margins, std::vector<float> labels,
               std::vector<float> weights = {}, ObjectiveKind objective = ObjectiveKind::kBinaryLogistic) {
  DataSet data = OneColumn(std::vector<float>(labels.size()), labels);
  data.weight = std::move(weights);
  GbdtParameters parameters;
  parameters.objective = objective;
  return EvaluateMetric(metric, parameters, data, margins);
}

TEST_CASE("Metric: auc counts pairs in the right order, ties half", "[gbdt]") {
  CHECK(ValueOf(MetricKind::kAuc, {1, 2, 3, 4}, {0, 0, 1, 1}) == 1.0);
  CHECK(ValueOf(MetricKind::kAuc, {4, 3, 2, 1}, {0, 0, 1, 1}) == 0.0);
  CHECK(ValueOf(MetricKind::kAuc, {5, 5, 5, 5}, {0, 1, 0, 1}) == 0.5);
  // Pairs: (3,1) right, (3,2) right, (2,1) right, (2,2) tie: 3.5 of 4.
  CHECK(ValueOf(MetricKind::kAuc, {1, 2, 2, 3}, {0, 0, 1, 1}) == 3.5 / 4);
  CHECK(ValueOf(MetricKind::kAuc, {-0.0f, 0.0f}, {1, 0}) == 0.5);
}

TEST_CASE("Metric: auc weighs pairs by both weights", "[gbdt]") {
  // Positive 2 (weight 3) against negatives 1 (weight 2, right) and 3 (weight 5, wrong); positive 4 (weight
  // 1) right.
  const double right = 3 * 2 + 1 * 2 + 1 * 5, all = 4.0 * 7;
  CHECK(ValueOf(MetricKind::kAuc, {1, 2, 3, 4}, {0, 1, 0, 1}, {2, 3, 5, 1}) ==
        Approx(right / all).epsilon(1e-12));
  CHECK(ValueOf(MetricKind::kAuc, {1, 2, 2, 3}, {0, 0, 1, 1}, {1, 1, 1, 1}) ==
        Approx(3.5 / 4).epsilon(1e-12));
}

TEST_CASE("Metric: auc of many rows equals the count over all pairs", "[gbdt]") {
  std::vector<float> margins, labels;
  for (uint64_t i = 0; i < 1500; ++i) {
    margins.push_back(static_cast<float>(HashOf(1, i) % 400) / 100 - 2);
    labels.push_back(HashOf(2, i) % 3 == 0 ? 1.0f : 0.0f);
  }
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < margins.size(); ++i) {
    for (std::size_t j = 0; j < margins.size(); ++j) {
      if (labels[i] != 1 || labels[j] != 0) continue;
      ++pairs;
      right += margins[i] > margins[j] ? 1 : margins[i] == margins[j] ? 0.5 : 0;
    }
  }
  CHECK(ValueOf(MetricKind::kAuc, margins, labels) == Approx(right / pairs).epsilon(1e-13));
}

TEST_CASE("Metric: auc and aucpr of one class are undefined", "[gbdt]") {
  CHECK(std::isnan(ValueOf(MetricKind::kAuc, {1, 2}, {1, 1})));
  CHECK(std::isnan(ValueOf(MetricKind::kAuc, {1, 2}, {0, 0})));
  CHECK(std::isnan(ValueOf(MetricKind::kAucPr, {1, 2}, {0, 0})));
  CHECK(std::isnan(ValueOf(MetricKind::kAuc, {1, 2}, {0, 1}, {1, 0})));
}

TEST_CASE("Metric: aucpr interpolates between the curve's points", "[gbdt]") {
  CHECK(ValueOf(MetricKind::kAucPr, {4, 3, 2, 1}, {1, 1, 0, 0}) == Approx(1.0));
  // All tied: precision is 1/2 at every recall.
  CHECK(ValueOf(MetricKind::kAucPr, {1, 1, 1, 1}, {1, 0, 1, 0}) == Approx(0.5));
  // +, -, +: recall 0 to 1/2 at precision 1; then tp from 1 to 2 at 1 false positive, precision t / (t + 1),
  // whose mean over t in [1, 2] is 1 - ln(3/2).
  CHECK(ValueOf(MetricKind::kAucPr, {3, 2, 1}, {1, 0, 1}) == Approx(0.5 + 0.5 * (1 - std::log(1.5))));
}

TEST_CASE("Metric: losses of single predictions", "[gbdt]") {
  const float quarter = std::log(1.0f / 3);  // margin of probability 1/4
  CHECK(ValueOf(MetricKind::kLogLoss, {quarter, quarter}, {1, 0}) ==
        Approx(-(std::log(0.25) + std::log(0.75)) / 2).epsilon(1e-6));
  CHECK(ValueOf(MetricKind::kLogLoss, {quarter, quarter}, {1, 0}, {3, 1}) ==
        Approx(-(3 * std::log(0.25) + std::log(0.75)) / 4).epsilon(1e-6));
  CHECK(ValueOf(MetricKind::kLogLoss, {200}, {0}) == Approx(-std::log(1e-16)));
  CHECK(ValueOf(MetricKind::kError, {1, -1, 1, 0}, {1, 1, 0, 0}) == 0.5);
  CHECK(ValueOf(MetricKind::kMae, {quarter}, {1}) == Approx(0.75).epsilon(1e-6));
  const auto squared = ObjectiveKind::kSquaredError;
  CHECK(ValueOf(MetricKind::kRmse, {1, 2}, {4, 6}, {}, squared) == Approx(std::sqrt(12.5)).epsilon(1e-12));
  CHECK(ValueOf(MetricKind::kMae, {1, 2}, {4, 6}, {3, 1}, squared) == Approx(13.0 / 4).epsilon(1e-12));
}

TEST_CASE("Metric: losses of classes", "[gbdt]") {
  DataSet data = OneColumn({0, 0}, {2, 0});
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  // [class][row]: row 0 has margins 0, 0, ln 2; row 1 has 0, 0, 1.
  const std::vector<float> margins = {0, 0, 0, 0, std::log(2.0f), 1};
  const double e = std::exp(1.0);
  CHECK(EvaluateMetric(MetricKind::kMultiError, parameters, data, margins) == 0.5);
  CHECK(EvaluateMetric(MetricKind::kMultiLogLoss, parameters, data, margins) ==
        Approx((-std::log(0.5) - std::log(1 / (2 + e))) / 2).epsilon(1e-6));
}

TEST_CASE("Metric: accuracy, f1 and mse are those of SageMaker's image", "[gbdt]") {
  // One row of class 1 is right and two are wrong, as is one of class 0: f1 is 2 / 5 of class 1 and 0 of
  // class 0, which all in all have 4 rows.
  const std::vector<float> margins = {1, -1, -1, 1}, labels = {1, 1, 1, 0};
  CHECK(ValueOf(MetricKind::kAccuracy, margins, labels) == 0.25);
  CHECK(ValueOf(MetricKind::kF1, margins, labels) == Approx((2.0 / 5 + 0) / 2).epsilon(1e-12));
  CHECK(ValueOf(MetricKind::kAccuracy, margins, labels, {3, 1, 1, 1}) == Approx(0.5).epsilon(1e-12));
  CHECK(ValueOf(MetricKind::kF1, margins, labels, {3, 1, 1, 1}) == Approx((6.0 / 9 + 0) / 2).epsilon(1e-12));
  // A margin of 0 is no probability of more than one half.
  CHECK(ValueOf(MetricKind::kAccuracy, {0}, {0}) == 1);
  // A class that no row has or gets does not count.
  CHECK(ValueOf(MetricKind::kF1, {1, 2}, {1, 1}) == 1);
  CHECK(ValueOf(MetricKind::kMse, {1, 2}, {4, 6}, {}, ObjectiveKind::kSquaredError) == 12.5);
  DataSet data = OneColumn({0, 0, 0}, {2, 0, 1});
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftMax;
  parameters.num_class = 4;
  // [class][row]: the rows get the classes 2, 0 and 0; nobody has or gets class 3.
  const std::vector<float> classes = {0, 3, 2, 0, 1, 1, 5, 0, 0, 0, 0, 0};
  CHECK(EvaluateMetric(MetricKind::kAccuracy, parameters, data, classes) == Approx(2.0 / 3).epsilon(1e-12));
  CHECK(EvaluateMetric(MetricKind::kF1, parameters, data, classes) ==
        Approx((2.0 / 3 + 0 + 1) / 3).epsilon(1e-12));
  CHECK(HigherIsBetter(MetricKind::kAccuracy));
  CHECK(HigherIsBetter(MetricKind::kF1));
  CHECK_FALSE(HigherIsBetter(MetricKind::kMse));
}

TEST_CASE("Metric: the order of rows does not change a bit", "[gbdt]") {
  DataSet data = SampleData(3000);
  AddWeights(&data);
  std::vector<float> margins = data.columns[0];
  DataSet turned = data;
  std::vector<float> turned_margins(margins.rbegin(), margins.rend());
  std::reverse(turned.label.begin(), turned.label.end());
  std::reverse(turned.weight.begin(), turned.weight.end());
  const GbdtParameters parameters = LogisticParameters();
  for (MetricKind metric : {MetricKind::kAuc, MetricKind::kAucPr, MetricKind::kLogLoss, MetricKind::kError,
                            MetricKind::kRmse, MetricKind::kMae}) {
    INFO(MetricName(metric));
    CHECK(EvaluateMetric(metric, parameters, data, margins) ==
          EvaluateMetric(metric, parameters, turned, turned_margins));
  }
}

TEST_CASE("Metric: the radix sort sorts", "[gbdt]") {
  for (const std::size_t size : {0u, 1u, 511u, 512u, 5000u}) {
    std::vector<uint32_t> keys, scratch;
    for (uint64_t i = 0; i < size; ++i) keys.push_back(static_cast<uint32_t>(HashOf(3, i)) >> (i % 20));
    std::vector<uint32_t> expected = keys;
    std::sort(expected.begin(), expected.end());
    RadixSort(&keys, &scratch);
    CHECK(keys == expected);
  }
}

}  // namespace
}  // namespace winnow::gbdt
