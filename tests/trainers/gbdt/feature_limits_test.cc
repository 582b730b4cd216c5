#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/table_targets.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/tree/tree_builder.h"

namespace winnow::gbdt {
namespace {

// The largest step against `direction` that margins take where `feature` grows and all else stays.
double WorstStep(const Model& model, const DataSet& data, int feature, int direction) {
  DataSet probe = data;
  std::vector<float> before;
  double worst = 0;
  for (int step = 0; step <= 40; ++step) {
    probe.columns[feature].assign(data.rows, -4.1f + 0.33f * static_cast<float>(step));
    const std::vector<float> now = PredictMargins(model, probe, model.rounds());
    for (std::size_t i = 0; i < before.size(); ++i)
      worst = std::max(worst, static_cast<double>(before[i] - now[i]) * direction);
    before = now;
  }
  return worst;
}

TEST_CASE("Limits: predictions never step against a monotone direction", "[gbdt]") {
  const DataSet train = SampleData(3000), probe = SampleData(150, 2, 9);
  GbdtParameters parameters = LogisticParameters(15);
  parameters.max_depth = 5;
  for (const GrowPolicy policy : {GrowPolicy::kDepthWise, GrowPolicy::kLossGuide}) {
    parameters.grow_policy = policy;
    const Model free = Train(parameters, train);
    for (const int direction : {1, -1}) {
      const Model model = Train(parameters, train, {.limits = {{direction, 0, direction, 0, 0, 0}, {}}});
      for (const int feature : {0, 2}) {
        CHECK(WorstStep(model, probe, feature, direction) == 0);
        CHECK(WorstStep(free, probe, feature, direction) > 0.01);
      }
    }
  }
}

TEST_CASE("Limits: leaves that are renewed keep to a monotone direction, and to the data", "[gbdt]") {
  DataSet train = SampleData(3000);
  const DataSet probe = SampleData(150, 2, 9);
  for (int64_t i = 0; i < train.rows; ++i) {
    const float x = train.columns[0][i];
    const auto noise = static_cast<float>(HashOf(3, static_cast<uint64_t>(i)) % 100);
    train.label[i] = 2 * x + 3 * std::sin(3 * x) + train.columns[2][i] + noise * noise * 1e-4f;
  }
  GbdtParameters parameters;
  parameters.metrics = {MetricKind::kMae};
  parameters.num_round = 20;
  parameters.quantile_alpha = 0.7;
  for (const ObjectiveKind objective : {ObjectiveKind::kAbsoluteError, ObjectiveKind::kQuantile}) {
    parameters.objective = objective;
    std::vector<float> free_metrics, metrics;
    const Model free = Train(parameters, train, {.last_metrics = &free_metrics});
    CHECK(WorstStep(free, probe, 0, 1) > 0.5);
    for (const int direction : {1, -1}) {
      const FeatureLimits limits{{direction, 0, direction, 0, 0, 0}, {}};
      const Model model = Train(parameters, train, {.last_metrics = &metrics, .limits = limits});
      for (const int feature : {0, 2}) CHECK(WorstStep(model, probe, feature, direction) == 0);
      if (direction > 0) CHECK(metrics[0] < 2);  // half of the sine's swing; 5 without a tree
    }
  }
}

TEST_CASE("Limits: with max_delta_step and alpha too", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(10);
  parameters.alpha = 0.5;
  parameters.max_delta_step = 0.4;
  const Model model = Train(parameters, SampleData(2000), {.limits = {{1, 1, 1, 0, 0, 0}, {}}});
  for (const int feature : {0, 1, 2}) CHECK(WorstStep(model, SampleData(100, 2, 4), feature, 1) == 0);
  for (const Tree& tree : model.trees) {
    for (const Tree::Node& node : tree.nodes) CHECK(std::fabs(node.weight) <= 0.4f);
  }
}

// The label is 1 where the first column has its only value, and 0 in its gaps.
DataSet OneValueWithGaps(bool sparse) {
  DataSet data;
  data.rows = 80;
  data.feature_names = {"a", "b"};
  data.columns.assign(2, std::vector<float>(80, 1.0f));
  data.sparse.resize(2);
  data.sparse[0].used = sparse;
  for (int64_t i = 0; i < data.rows; ++i) {
    if (i % 2 == 0) data.columns[0][i] = std::nanf("");
    if (i % 2 == 1 && sparse) data.sparse[0].Add(i, 1);
    data.columns[1][i] = static_cast<float>(i / 2 % 5);
    data.label.push_back(static_cast<float>(i % 2));
  }
  if (sparse) data.columns[0].clear();
  for (const std::string& name : data.feature_names) data.schema.columns.push_back({name, false, {}});
  return data;
}

TEST_CASE("Limits: a column of one value with gaps is divided in training as in predictions", "[gbdt]") {
  GbdtParameters parameters = LogisticParameters(1);
  parameters.metrics = {MetricKind::kLogLoss};
  for (const bool sparse : {false, true}) {
    const DataSet data = OneValueWithGaps(sparse);
    for (const std::vector<int>& directions : {std::vector<int>{0, 1}, {1, 0}, {-1, 0}, {}}) {
      std::vector<float> metrics;
      const Model model = Train(parameters, data, {.last_metrics = &metrics, .limits = {directions, {}}});
      const std::vector<float> margins = PredictMargins(model, data, 1);
      CAPTURE(sparse, directions);
      CHECK(margins[0] < -0.4f);
      CHECK(margins[1] > 0.4f);
      CHECK(metrics[0] ==
            static_cast<float>(EvaluateMetric(parameters.metrics[0], parameters, data, margins)));
    }
  }
}

TEST_CASE("Limits: what may follow a path is on it, or in a group with all of it", "[gbdt]") {
  const FeatureLimits limits{{}, {{0, 1}, {1, 2, 3}, {5}}};
  using Flags = std::vector<uint8_t>;
  CHECK(limits.Allowed({}, 6) == Flags{1, 1, 1, 1, 1, 1});
  CHECK(limits.Allowed({0}, 6) == Flags{1, 1, 0, 0, 0, 0});
  CHECK(limits.Allowed({1}, 6) == Flags{1, 1, 1, 1, 0, 0});
  CHECK(limits.Allowed({3, 1}, 6) == Flags{0, 1, 1, 1, 0, 0});
  CHECK(limits.Allowed({4}, 6) == Flags{0, 0, 0, 0, 1, 0});
  CHECK(FeatureLimits{}.Allowed({4, 2}, 6) == Flags(6, 1));
}

// The features of every path from the root to a leaf.
std::set<std::set<int>> Paths(const Tree& tree) {
  std::set<std::set<int>> paths;
  const std::function<void(int, std::set<int>)> walk = [&](int id, std::set<int> path) {
    const Tree::Node& node = tree.nodes[id];
    if (node.feature < 0) {
      paths.insert(path);
      return;
    }
    path.insert(node.feature);
    walk(node.left, path);
    walk(node.left + 1, path);
  };
  walk(0, {});
  return paths;
}

TEST_CASE("Limits: no path of a tree mixes groups that may not interact", "[gbdt]") {
  const std::vector<std::set<int>> groups = {{0, 3}, {1, 2}, {2, 4, 5}};
  FeatureLimits limits;
  for (const std::set<int>& group : groups) limits.interaction.emplace_back(group.begin(), group.end());
  const auto mixed = [&](const Model& model) {
    int count = 0;
    for (const Tree& tree : model.trees) {
      for (const std::set<int>& path : Paths(tree)) {
        count += std::none_of(groups.begin(), groups.end(), [&](const std::set<int>& group) {
          return std::includes(group.begin(), group.end(), path.begin(), path.end());
        });
      }
    }
    return count;
  };
  GbdtParameters parameters = LogisticParameters(10);
  for (const GrowPolicy policy : {GrowPolicy::kDepthWise, GrowPolicy::kLossGuide}) {
    parameters.grow_policy = policy;
    CHECK(mixed(Train(parameters, SampleData(2000), {.limits = limits})) == 0);
    CHECK(mixed(Train(parameters, SampleData(2000))) > 0);
  }
}

}  // namespace
}  // namespace winnow::gbdt
