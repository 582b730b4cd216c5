#include "worker/gbdt/booster.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/worker/gbdt/sample_data.h"
#include "worker/gbdt/model_file.h"
#include "worker/gbdt/objective.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

GbdtModel Train(const GbdtParameters& parameters, const DataSet& train, int threads = 1,
                const DataSet* validation = nullptr, std::vector<float>* last_metrics = nullptr,
                std::vector<Tree> from = {}) {
  GbdtModel model;
  model.parameters = parameters;
  model.feature_names = train.feature_names;
  model.schema = train.schema;
  model.trees = std::move(from);
  ThreadPool pool(threads);
  Booster booster(train, validation, &model, &pool);
  booster.Start();
  while (model.rounds() < parameters.num_round) booster.TrainRound();
  if (last_metrics != nullptr) *last_metrics = booster.Evaluate();
  return model;
}

GbdtParameters Everything() {
  GbdtParameters p = LogisticParameters(12);
  p.metrics = {MetricKind::kAuc, MetricKind::kLogLoss};
  p.subsample = 0.7;
  p.colsample_bytree = 0.8;
  p.colsample_bylevel = 0.7;
  p.colsample_bynode = 0.6;
  p.alpha = 0.1;
  p.seed = 42;
  return p;
}

TEST_CASE("Booster: any number of threads gives the same bytes and metrics", "[gbdt]") {
  DataSet train = SampleData(40'000);
  AddWeights(&train);
  const DataSet validation = SampleData(10'000, 2, 99);
  std::vector<float> metrics, expected_metrics;
  const std::string expected = ModelText(Train(Everything(), train, 1, &validation, &expected_metrics));
  for (int threads : {2, 3, 4}) {
    CHECK(ModelText(Train(Everything(), train, threads, &validation, &metrics)) == expected);
    CHECK(metrics == expected_metrics);
  }
  CHECK(expected_metrics[0] > 0.8f);  // train auc
  CHECK(expected_metrics[2] > 0.8f);  // validation auc
}

TEST_CASE("Booster: the order of rows does not change a byte", "[gbdt]") {
  DataSet train = SampleData(5000);
  AddWeights(&train);
  DataSet turned = train;
  for (auto& column : turned.columns) std::reverse(column.begin(), column.end());
  std::reverse(turned.label.begin(), turned.label.end());
  std::reverse(turned.weight.begin(), turned.weight.end());
  GbdtParameters parameters = Everything();
  parameters.subsample = 1;  // rows are drawn by their number
  CHECK(ModelText(Train(parameters, train)) == ModelText(Train(parameters, turned)));
}

TEST_CASE("Booster: ten rounds and then twenty more are thirty", "[gbdt]") {
  for (int classes : {2, 4}) {
    DataSet train = SampleData(2000, classes);
    GbdtParameters parameters = Everything();
    if (classes > 2) {
      parameters.objective = ObjectiveKind::kSoftProb;
      parameters.num_class = classes;
      parameters.metrics = {MetricKind::kMultiLogLoss, MetricKind::kMultiError};
    }
    std::vector<float> whole_metrics, resumed_metrics;
    const DataSet validation = SampleData(500, classes, 3);
    parameters.num_round = 30;
    const GbdtModel whole = Train(parameters, train, 1, &validation, &whole_metrics);
    parameters.num_round = 10;
    const GbdtModel part = Train(parameters, train, 2, &validation);
    // Through the text, as a checkpoint goes.
    const absl::StatusOr<GbdtModel> read = ParseModel(ModelText(part));
    REQUIRE(read.ok());
    parameters.num_round = 30;
    const GbdtModel resumed = Train(parameters, train, 2, &validation, &resumed_metrics, read->trees);
    CHECK(ModelText(resumed) == ModelText(whole));
    CHECK(resumed_metrics == whole_metrics);
  }
}

TEST_CASE("Booster: predictions from raw values are what training saw", "[gbdt]") {
  const DataSet train = SampleData(3000), validation = SampleData(1000, 2, 5);
  std::vector<float> metrics;
  const GbdtModel model = Train(Everything(), train, 1, &validation, &metrics);
  const std::vector<float> margins = PredictMargins(model, validation, model.rounds());
  double right = 0;
  for (int64_t i = 0; i < validation.rows; ++i) right += (margins[i] > 0) == (validation.label[i] == 1);
  GbdtModel again = model;
  ThreadPool pool(1);
  Booster booster(train, &validation, &again, &pool);
  booster.Start();
  CHECK(booster.Evaluate() == metrics);
  CHECK(right / static_cast<double>(validation.rows) > 0.75);
}

TEST_CASE("Booster: a weight of three is a row three times", "[gbdt]") {
  DataSet weighted = SampleData(400), repeated = weighted;
  weighted.weight.assign(400, 3.0f);
  for (auto& column : repeated.columns) {
    const std::vector<float> once = column;
    for (int time = 0; time < 2; ++time) column.insert(column.end(), once.begin(), once.end());
  }
  const std::vector<float> once = repeated.label;
  for (int time = 0; time < 2; ++time) repeated.label.insert(repeated.label.end(), once.begin(), once.end());
  repeated.rows *= 3;
  const GbdtParameters parameters = LogisticParameters(8);
  const std::vector<float> a = PredictMargins(Train(parameters, weighted), weighted, 8);
  const std::vector<float> b = PredictMargins(Train(parameters, repeated), weighted, 8);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-4));
}

TEST_CASE("Booster: classes are learned", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  parameters.num_round = 20;
  parameters.metrics = {MetricKind::kMultiError};
  std::vector<float> metrics;
  const GbdtModel model = Train(parameters, SampleData(3000, 3), 1, nullptr, &metrics);
  CHECK(model.trees.size() == 60);
  CHECK(metrics[0] < 0.15f);
}

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
  const auto leaves = [](const GbdtModel& model) {
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
        const GbdtModel model = Train(parameters, data, 2, &data);
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
  Train(parameters, data, 1, &data, &wide);
  CHECK(wide[0] == wide[1]);
  CHECK(wide[0] > 0.8f);
}

TEST_CASE("Booster: a missing column value at prediction follows the learned side", "[gbdt]") {
  const float nan = std::nanf("");
  // Missing rows are labelled like the high ones.
  const DataSet data = OneColumn({1, 1, 1, 9, 9, 9, nan, nan}, {0, 0, 0, 1, 1, 1, 1, 1});
  GbdtParameters parameters = LogisticParameters(1);
  parameters.min_child_weight = 0;
  const GbdtModel model = Train(parameters, data);
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
             Catch::Contains("t.csv: row 2: feature x is infinite"));
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
}

}  // namespace
}  // namespace winnow
