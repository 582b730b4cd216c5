#include "trainers/gbdt/booster.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/gbdt/sample_data.h"
#include "tests/trainers/gbdt/training_samples.h"
#include "trainers/gbdt/model/model_file.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

TEST_CASE("Booster: any number of threads gives the same bytes and metrics", "[gbdt]") {
  DataSet train = SampleData(40'000);
  AddWeights(&train);
  const DataSet validation = SampleData(10'000, 2, 99);
  std::vector<float> metrics, expected_metrics;
  const std::string expected = ModelText(
      Train(SampledParameters(), train, {.validation = &validation, .last_metrics = &expected_metrics}));
  for (int threads : {2, 3, 4}) {
    CHECK(ModelText(Train(SampledParameters(), train, {threads, &validation, &metrics})) == expected);
    CHECK(metrics == expected_metrics);
  }
  CHECK(expected_metrics[0] > 0.8f);  // train auc
  CHECK(expected_metrics[2] > 0.8f);  // validation auc
}

TEST_CASE("Booster: the order of rows does not change a byte where gradients need no rounding", "[gbdt]") {
  DataSet train = SampleData(5000);
  for (int64_t i = 0; i < train.rows; ++i)
    train.label[i] = static_cast<float>(HashOf(4, static_cast<uint64_t>(i)) % 50);
  DataSet turned = train;
  for (auto& column : turned.columns) std::reverse(column.begin(), column.end());
  std::reverse(turned.label.begin(), turned.label.end());
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSquaredError;
  parameters.num_round = 1;  // with base_score 0.5 its gradients are halves
  parameters.max_depth = 8;
  CHECK(ModelText(Train(parameters, train)) == ModelText(Train(parameters, turned)));
}

TEST_CASE("Booster: the order of rows changes little where gradients are rounded", "[gbdt]") {
  DataSet train = SampleData(5000);
  AddWeights(&train);
  DataSet turned = train;
  for (auto& column : turned.columns) std::reverse(column.begin(), column.end());
  std::reverse(turned.label.begin(), turned.label.end());
  std::reverse(turned.weight.begin(), turned.weight.end());
  std::vector<float> metrics, turned_metrics;
  Train(LogisticParameters(12), train, {.last_metrics = &metrics});
  Train(LogisticParameters(12), turned, {.last_metrics = &turned_metrics});
  // Cuts that are nearly as good as each other may change places: that is worth less than the noise of the
  // data.
  CHECK(metrics[0] == Approx(turned_metrics[0]).margin(0.003));
  CHECK(metrics[0] > 0.8f);
}

TEST_CASE("Booster: without samples the seed changes a model by rounding to 16 bits, and none with 30",
          "[gbdt]") {
  DataSet train = SampleData(5000);
  AddWeights(&train);
  const auto margins = [&](int64_t seed, bool wide) {
    GbdtParameters parameters = LogisticParameters(8);
    parameters.seed = seed;
    parameters.wide_gradients = wide;
    const Model model = Train(parameters, train);
    return PredictMargins(model, train, model.rounds());
  };
  CHECK(margins(1, false) != margins(2, false));
  CHECK(margins(1, true) == margins(2, true));
}

TEST_CASE("Booster: ten rounds and then twenty more are thirty", "[gbdt]") {
  for (int classes : {2, 4}) {
    DataSet train = SampleData(2000, classes);
    GbdtParameters parameters = SampledParameters();
    if (classes > 2) {
      parameters.objective = ObjectiveKind::kSoftProb;
      parameters.num_class = classes;
      parameters.metrics = {MetricKind::kMultiLogLoss, MetricKind::kMultiError};
    }
    std::vector<float> whole_metrics, resumed_metrics;
    const DataSet validation = SampleData(500, classes, 3);
    parameters.num_round = 30;
    const Model whole = Train(parameters, train, {1, &validation, &whole_metrics});
    parameters.num_round = 10;
    const Model part = Train(parameters, train, {2, &validation});
    // Through the text, as a checkpoint goes.
    const absl::StatusOr<Model> read = ParseModel(ModelText(part));
    REQUIRE(read.ok());
    parameters.num_round = 30;
    const Model resumed = Train(parameters, train, {2, &validation, &resumed_metrics, read->trees});
    CHECK(ModelText(resumed) == ModelText(whole));
    CHECK(resumed_metrics == whole_metrics);
  }
}

TEST_CASE("Booster: predictions from raw values are what training saw", "[gbdt]") {
  const DataSet train = SampleData(3000), validation = SampleData(1000, 2, 5);
  std::vector<float> metrics;
  const Model model = Train(SampledParameters(), train, {1, &validation, &metrics});
  const std::vector<float> margins = PredictMargins(model, validation, model.rounds());
  double right = 0;
  for (int64_t i = 0; i < validation.rows; ++i) right += (margins[i] > 0) == (validation.label[i] == 1);
  // Margins from values, and margins from the trees and the bins, give the metrics that training had.
  const TrainingData binned = Binned(train, 256, &validation);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  Model again = model;
  ThreadPool pool(1);
  Booster booster(binned, {}, &again, sole.get(), &pool);
  booster.Start();
  CHECK(*booster.Evaluate() == metrics);
  const RawTables tables{train, validation};
  Booster by_values(binned, {}, &again, sole.get(), &pool);
  by_values.Start(&tables);
  CHECK(*by_values.Evaluate() == metrics);
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
  GbdtParameters parameters = LogisticParameters(1);
  parameters.base_score = 0.5;  // gradients of 1/2 and hessians of 1/4 are not rounded
  CHECK(ModelText(Train(parameters, weighted)) == ModelText(Train(parameters, repeated)));
  parameters.num_round = 8;
  const std::vector<float> a = PredictMargins(Train(parameters, weighted), weighted, 8);
  const std::vector<float> b = PredictMargins(Train(parameters, repeated), weighted, 8);
  // Later gradients are rounded row by row, by at most 2^-14 of the largest: a leaf's value moves by about as
  // much, but of two cuts that are nearly as good now this one, now that one is made.
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference += std::fabs(a[i] - b[i]);
  CHECK(difference / static_cast<double>(a.size()) < 0.02);
}

TEST_CASE("Booster: parallel trees of an absolute error share one step to the medians", "[gbdt]") {
  const DataSet data = OneColumn({0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, {-30, -9, -4, -2, -1, 3, 5, 8, 70, 90});
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kAbsoluteError;
  parameters.metrics = {MetricKind::kMae};
  parameters.eta = 1;
  parameters.num_round = 1;
  for (const int64_t parallel : {1, 2, 10}) {
    parameters.num_parallel_tree = parallel;
    const Model model = Train(parameters, data);
    const std::vector<float> margins = PredictMargins(model, data, 1);
    CAPTURE(parallel);
    CHECK(margins.front() == Approx(-4).epsilon(1e-5));
    CHECK(margins.back() == Approx(8).epsilon(1e-5));
    // DART adds its trees only after the round.
    GbdtParameters dart = parameters;
    dart.booster = BoosterKind::kDart;
    CHECK(PredictMargins(Train(dart, data), data, 1) == margins);
  }
}

TEST_CASE("Booster: classes are learned", "[gbdt]") {
  GbdtParameters parameters;
  parameters.objective = ObjectiveKind::kSoftProb;
  parameters.num_class = 3;
  parameters.num_round = 20;
  parameters.metrics = {MetricKind::kMultiError};
  std::vector<float> metrics;
  const Model model = Train(parameters, SampleData(3000, 3), {.last_metrics = &metrics});
  CHECK(model.trees.size() == 60);
  CHECK(metrics[0] < 0.15f);
}

}  // namespace
}  // namespace winnow::gbdt
