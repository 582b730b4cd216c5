#include <algorithm>
#include <cmath>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/training_input.h"

namespace winnow::gbdt {
namespace {

TEST_CASE("Booster: eta 0 learns nothing, and one full step fits a mean", "[gbdt]") {
  GbdtParameters parameters;
  parameters.metrics = {MetricKind::kRmse};
  parameters.num_round = 1;
  parameters.lambda = 0;
  const DataSet data = OneColumn({1, 1, 2, 2}, {10, 20, 30, 50});
  parameters.eta = 0;
  CHECK(PredictMargins(Train(parameters, data), data, 1) == std::vector<float>(4, 0.5f));
  parameters.eta = 1;
  const std::vector<float> fitted = PredictMargins(Train(parameters, data), data, 1);
  CHECK(fitted[0] == Approx(15));
  CHECK(fitted[3] == Approx(40));
}

TEST_CASE("Booster: max_depth bounds the depth, 0 and max_leaves do what they say", "[gbdt]") {
  const auto leaves = [](const Model& model) {
    return std::count_if(model.trees[0].nodes.begin(), model.trees[0].nodes.end(),
                         [](const Tree::Node& node) { return node.feature < 0; });
  };
  std::vector<float> values, labels;
  for (int i = 0; i < 64; ++i) {
    values.push_back(static_cast<float>(i));
    labels.push_back(static_cast<float>(HashOf(8, static_cast<uint64_t>(i)) % 1000));
  }
  const DataSet data = OneColumn(values, labels);
  GbdtParameters parameters;
  parameters.metrics = {MetricKind::kRmse};
  parameters.num_round = 1;
  parameters.lambda = 0;
  parameters.max_depth = 2;
  CHECK(leaves(Train(parameters, data)) == 4);
  parameters.max_depth = 0;
  CHECK(leaves(Train(parameters, data)) == 64);
  parameters.max_leaves = 5;
  CHECK(leaves(Train(parameters, data)) == 5);
  parameters.max_leaves = 0;
  parameters.gamma = 1e12;
  CHECK(leaves(Train(parameters, data)) == 1);
}

TEST_CASE("Booster: extreme data and parameters train without ado", "[gbdt]") {
  const float nan = std::nanf("");
  GbdtParameters parameters = LogisticParameters(3);
  DataSet weightless = SampleData(50);
  weightless.weight.assign(50, 0.0f);
  const DataSet kData[] = {
      OneColumn({1}, {1}),
      OneColumn({nan}, {0}),
      OneColumn({5, 5, 5}, {0, 1, 0}),
      OneColumn({nan, nan, nan}, {0, 1, 0}),
      OneColumn({1, 2, 3}, {1, 1, 1}),
      OneColumn({1e38f, -1e38f, 3.4e38f, 1e-45f}, {0, 1, 0, 1}),
      weightless,
      SampleData(200),
  };
  for (const DataSet& data : kData) {
    for (const double fraction : {0.0, 1e-9, 1.0}) {
      for (const int64_t max_depth : {0, 1, 30}) {
        parameters.colsample_bytree = parameters.colsample_bylevel = parameters.colsample_bynode = fraction;
        parameters.max_depth = max_depth;
        parameters.lambda = fraction;
        parameters.min_child_weight = 0;
        parameters.subsample = fraction > 0 ? fraction : 1;
        REQUIRE(CheckTrainable(parameters, data, "data").ok());
        const Model model = Train(parameters, data, {2, &data});
        for (float margin : PredictMargins(model, data, 3)) CHECK(std::isfinite(margin));
      }
    }
  }
}

TEST_CASE("Booster: a tree with two bytes a bin is the tree with one", "[gbdt]") {
  const DataSet data = SampleData(3000);
  GbdtParameters parameters = LogisticParameters(3);
  parameters.max_bin = 4000;
  std::vector<float> wide;
  Train(parameters, data, {1, &data, &wide});
  CHECK(wide[0] == wide[1]);
  CHECK(wide[0] > 0.8f);
}

TEST_CASE("Booster: a missing column value at prediction follows the learned side", "[gbdt]") {
  const float nan = std::nanf("");
  // Missing rows are labelled like the high ones.
  const DataSet data = OneColumn({1, 1, 1, 9, 9, 9, nan, nan}, {0, 0, 0, 1, 1, 1, 1, 1});
  GbdtParameters parameters = LogisticParameters(1);
  parameters.min_child_weight = 0;
  const Model model = Train(parameters, data);
  CHECK_FALSE(model.trees[0].nodes[0].missing_left);
  const std::vector<float> margins = PredictMargins(model, OneColumn({nan, 0, 100}, {0, 0, 0}), 1);
  CHECK(margins[0] == margins[2]);
  CHECK(margins[1] < 0);
}

TEST_CASE("Booster: data that cannot be trained on is refused", "[gbdt]") {
  const GbdtParameters parameters = LogisticParameters();
  const auto refusal = [&](const DataSet& data) {
    return MessageOf(CheckTrainable(parameters, data, "t.csv"));
  };
  CHECK(refusal(OneColumn({}, {})) == "t.csv: there are no rows");
  CHECK_THAT(refusal(OneColumn({1, INFINITY}, {0, 1})),
             Catch::Contains("t.csv: data row 2: feature x is infinite"));
  CHECK_THAT(refusal(OneColumn({1, 2}, {})), Catch::Contains("t.csv: the data has no label column"));
  DataSet bare = OneColumn({1}, {1});
  bare.columns.clear();
  CHECK(refusal(bare) == "t.csv: there are no feature columns");
}

TEST_CASE("Booster: text labels are no numbers to regress on", "[gbdt]") {
  DataSet data = SampleData(20);
  data.schema.label_levels = {"1,200", "900"};
  std::vector<std::string> warnings;
  const auto regression = ParseHyperparameters(R"({"objective": "reg:squarederror"})", &warnings);
  const absl::Status refused = CheckTrainable(*regression, data, "train.csv");
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("the label column is text (\"1,200\" is one of"));
  const auto classes = ParseHyperparameters(R"({"objective": "binary:logistic"})", &warnings);
  CHECK(CheckTrainable(*classes, data, "train.csv").ok());
  data.schema.label_levels.push_back("more");
  CHECK_THAT(MessageOf(CheckTrainable(*classes, data, "train.csv")),
             Catch::Contains("has 3 texts (\"1,200\" is one of them): expected at most 2 with objective"));
}

}  // namespace
}  // namespace winnow::gbdt
