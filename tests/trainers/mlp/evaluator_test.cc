#include "trainers/mlp/network/evaluator.h"

#include <cmath>
#include <limits>

#include "base/hash.h"
#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"
#include "trainers/data/shard.h"

namespace winnow::mlp {
namespace {

using Kind = MlpMetric::Kind;

MlpParameters WithLoss(LossKind loss) {
  MlpParameters parameters;
  parameters.loss = loss;
  return parameters;
}

std::vector<double> ValuesOf(const MlpParameters& parameters, const std::vector<float>& outputs, int width,
                             const DenseData& data, const std::vector<MlpMetric>& metrics) {
  const std::unique_ptr<Communicator> alone = MakeSoleRank();
  const auto values = EvaluateOutputs(parameters, outputs, width, data, 0, metrics, alone.get());
  REQUIRE(values.ok());
  return *values;
}

DenseData Labelled(std::vector<float> label) {
  const std::size_t rows = label.size();
  return MakeDenseData(1, std::vector<float>(rows), std::move(label));
}

TEST_CASE("MlpMetrics: each loss has its own, and names are read back", "[mlp]") {
  MlpParameters parameters = WithLoss(LossKind::kLogistic);
  REQUIRE(MlpMetrics(parameters).ok());
  CHECK(*MlpMetrics(parameters) == std::vector<MlpMetric>{{Kind::kLoss}, {Kind::kAuc}});
  CHECK(*MlpMetrics(WithLoss(LossKind::kHuber)) == std::vector<MlpMetric>{{Kind::kLoss}, {Kind::kRmse}});
  CHECK(*MlpMetrics(WithLoss(LossKind::kCrossEntropy)) ==
        std::vector<MlpMetric>{{Kind::kLoss}, {Kind::kAccuracy}});
  parameters = WithLoss(LossKind::kCrossEntropy);
  parameters.metrics = {"top5", "logloss", "auc", "error", "accuracy", "loss", "top5"};
  const auto metrics = MlpMetrics(parameters);
  REQUIRE(metrics.ok());
  REQUIRE(metrics->size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(MlpMetricName((*metrics)[i]) == parameters.metrics[i]);
  CHECK(HigherIsBetter((*metrics)[0]));
  CHECK_FALSE(HigherIsBetter((*metrics)[1]));
}

TEST_CASE("MlpMetrics: an unknown name, or one of another loss, is refused", "[mlp]") {
  const auto error = [](const char* name, LossKind loss) {
    return std::string(ParseMlpMetric(name, loss).status().message());
  };
  CHECK(error("rmse", LossKind::kCrossEntropy) ==
        "loss, logloss, accuracy, error, auc or topK (as top5) with loss cross_entropy");
  CHECK(error("accuracy", LossKind::kSquared) == "loss, rmse or mae with loss mse");
  CHECK(error("top5", LossKind::kLogistic) == "loss, logloss, accuracy, error or auc with loss logistic");
  for (const char* name : {"top", "top0", "top-1", "top5x", "f1", ""})
    CHECK(error(name, LossKind::kCrossEntropy).find("loss, logloss, accuracy") == 0);
}

TEST_CASE("Evaluate: metrics of classes are those worked out by hand", "[mlp]") {
  // Probabilities 1/2, 1/4, 1/4; and 1/8, 1/8, 3/4; and all alike.
  const float two = std::log(2.0f), six = std::log(6.0f);
  const std::vector<float> outputs = {two, 0, 0, 0, 0, six, 1, 1, 1};
  MlpParameters parameters = WithLoss(LossKind::kCrossEntropy);
  parameters.label_smoothing = 0.3;
  const std::vector<double> values = ValuesOf(
      parameters, outputs, 3, Labelled({0, 1, 2}),
      {{Kind::kLoss}, {Kind::kLogLoss}, {Kind::kAccuracy}, {Kind::kError}, {Kind::kTop, 2}, {Kind::kTop, 3}});
  CHECK(values[0] == Approx((std::log(2.0) + std::log(8.0) + std::log(3.0)) / 3));
  CHECK(values[1] == values[0]);
  CHECK(values[2] == Approx(1.0 / 3));
  CHECK(values[3] == Approx(2.0 / 3));
  CHECK(values[4] == Approx(1.0 / 3));
  CHECK(values[5] == 1);
}

TEST_CASE("Evaluate: weights count, and rows without any do not", "[mlp]") {
  DenseData data = Labelled({1, 0, 1});
  const std::vector<float> weight = {1, 3, 0}, outputs = {2, 2, std::numeric_limits<float>::quiet_NaN()};
  data.weight = weight;
  const std::vector<double> values = ValuesOf(WithLoss(LossKind::kLogistic), outputs, 1, data,
                                              {{Kind::kAccuracy}, {Kind::kLoss}, {Kind::kAuc}});
  CHECK(values[0] == 0.25);
  CHECK(values[1] == Approx((std::log1p(std::exp(-2.0)) + 3 * (2 + std::log1p(std::exp(-2.0)))) / 4));
  CHECK(values[2] == 0.5);
}

TEST_CASE("Evaluate: errors of regression", "[mlp]") {
  MlpParameters parameters = WithLoss(LossKind::kHuber);
  parameters.huber_delta = 1;
  const std::vector<double> values =
      ValuesOf(parameters, {1, 5, 2}, 1, Labelled({1, 2, 2.5}), {{Kind::kRmse}, {Kind::kMae}, {Kind::kLoss}});
  CHECK(values[0] == Approx(std::sqrt(9.25 / 3)));
  CHECK(values[1] == Approx(3.5 / 3));
  CHECK(values[2] == Approx((2.5 + 0.125) / 3));
}

TEST_CASE("Evaluate: auc counts pairs in the right order, ties half", "[mlp]") {
  const auto auc = [](const std::vector<float>& outputs, const std::vector<float>& label) {
    return ValuesOf(WithLoss(LossKind::kLogistic), outputs, 1, Labelled(label), {{Kind::kAuc}})[0];
  };
  CHECK(auc({-1, 0.5f, 0.2f, 3}, {0, 0, 1, 1}) == 0.75);
  CHECK(auc({1, 1, 1, 1}, {0, 1, 0, 1}) == 0.5);
  CHECK(auc({0.0f, -0.0f, -1}, {1, 0, 0}) == 0.75);
  CHECK(std::isnan(auc({1, 2}, {1, 1})));
}

TEST_CASE("Evaluate: auc of few positives is the same as with weights of 1", "[mlp]") {
  constexpr int kRows = 60;
  std::vector<float> outputs, label(kRows, 0.0f);
  for (int i = 0; i < kRows; ++i) outputs.push_back(i % 13 == 0 ? -0.0f : static_cast<float>(i * 7 % 11 - 5));
  DenseData data = Labelled(label);
  const std::vector<float> weight(kRows, 1.0f);
  for (const int positive : {0, 5, 13, 22, 38, 59}) {
    label[positive] = 1;
    data.label = label;
    data.weight = {};
    const auto value = [&] {
      return ValuesOf(WithLoss(LossKind::kLogistic), outputs, 1, data, {{Kind::kAuc}})[0];
    };
    const double unweighted = value();
    data.weight = weight;
    CHECK(unweighted == value());
  }
}

// From the definition: the share of pairs, by weight, whose positive has the higher score.
double PairsInOrder(const std::vector<double>& score, const std::vector<float>& label, float positive,
                    const std::vector<float>& weight) {
  double right = 0, all = 0;
  for (std::size_t i = 0; i < score.size(); ++i) {
    for (std::size_t j = 0; j < score.size(); ++j) {
      if (label[i] != positive || label[j] == positive) continue;
      const double pair = static_cast<double>(weight[i]) * static_cast<double>(weight[j]);
      all += pair;
      right += score[i] > score[j] ? pair : score[i] == score[j] ? pair / 2 : 0;
    }
  }
  return right / all;
}

TEST_CASE("Evaluate: auc of classes is the mean of each against the rest, by their probabilities", "[mlp]") {
  constexpr int kRows = 60, kWidth = 3;
  std::vector<float> outputs, label, weight;
  std::vector<double> probability[kWidth];
  for (uint64_t i = 0; i < kRows; ++i) {
    double total = 0;
    for (uint64_t k = 0; k < kWidth; ++k) outputs.push_back(static_cast<float>(HashOf(i, k) % 4));
    for (uint64_t k = 0; k < kWidth; ++k) total += std::exp(outputs[i * kWidth + k]);
    // Rounded, so that rows of equal outputs in another order are ties in double as in float.
    for (uint64_t k = 0; k < kWidth; ++k)
      probability[k].push_back(std::round(std::exp(outputs[i * kWidth + k]) / total * 1e6));
    label.push_back(static_cast<float>(HashOf(7, i) % kWidth));
    weight.push_back(static_cast<float>(HashOf(8, i) % 5));
  }
  DenseData data = Labelled(label);
  data.weight = weight;
  double expected = 0;
  for (int k = 0; k < kWidth; ++k)
    expected += PairsInOrder(probability[k], label, static_cast<float>(k), weight) / kWidth;
  CHECK(ValuesOf(WithLoss(LossKind::kCrossEntropy), outputs, kWidth, data, {{Kind::kAuc}})[0] ==
        Approx(expected).epsilon(2e-3));
}

TEST_CASE("Evaluate: outputs that are not finite give nan", "[mlp]") {
  const float bad = GENERATE(std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity());
  for (const double value : ValuesOf(WithLoss(LossKind::kCrossEntropy), {1, 2, bad, 0}, 2, Labelled({0, 1}),
                                     {{Kind::kLoss}, {Kind::kAccuracy}, {Kind::kTop, 1}, {Kind::kAuc}}))
    CHECK(std::isnan(value));
  for (const double value :
       ValuesOf(WithLoss(LossKind::kSquared), {1, bad}, 1, Labelled({0, 1}), {{Kind::kRmse}, {Kind::kMae}}))
    CHECK(std::isnan(value));
}

TEST_CASE("Evaluate: no rows give nan", "[mlp]") {
  for (const double value : ValuesOf(WithLoss(LossKind::kLogistic), {}, 1, Labelled({}),
                                     {{Kind::kLoss}, {Kind::kAccuracy}, {Kind::kAuc}}))
    CHECK(std::isnan(value));
}

TEST_CASE("Evaluate: the bits are the same on any number of ranks", "[mlp]") {
  constexpr int kRows = 1003, kWidth = 3;
  std::vector<float> outputs, label, weight;
  for (uint64_t i = 0; i < kRows; ++i) {
    for (uint64_t k = 0; k < kWidth; ++k) outputs.push_back(static_cast<float>(HashOf(i, k) % 1000) / 100);
    label.push_back(static_cast<float>(HashOf(7, i) % kWidth));
    weight.push_back(static_cast<float>(HashOf(8, i) % 100) / 7);
  }
  DenseData data = Labelled(label);
  data.weight = weight;
  const std::vector<MlpMetric> metrics = {{Kind::kLoss}, {Kind::kAccuracy}, {Kind::kTop, 2}, {Kind::kAuc}};
  const MlpParameters parameters = WithLoss(LossKind::kCrossEntropy);
  const std::vector<double> expected = ValuesOf(parameters, outputs, kWidth, data, metrics);
  for (const int ranks : {2, 3, 4}) {
    const auto all = RunRanks(MakeThreadRanks(ranks), [&](Communicator* mine) {
      const auto [begin, end] = RowRange(kRows, mine->rank(), mine->size());
      const auto part = std::span(outputs).subspan(begin * kWidth, (end - begin) * kWidth);
      return EvaluateOutputs(parameters, part, kWidth, data, begin, metrics, mine);
    });
    for (const auto& values : all) CHECK((values.ok() && *values == expected));
  }
}

TEST_CASE("Evaluate: a network's values have the same bits on any number of ranks and threads", "[mlp]") {
  constexpr int kRows = 301, kFeatures = 6, kClasses = 4;
  std::vector<float> values, label;
  for (uint64_t i = 0; i < kRows; ++i) {
    for (uint64_t f = 0; f < kFeatures; ++f)
      values.push_back(static_cast<float>(HashOf(i, f) % 200) / 100 - 1);
    label.push_back(static_cast<float>(HashOf(9, i) % kClasses));
  }
  const DenseData data = MakeDenseData(kFeatures, values, label);
  MlpParameters parameters;
  parameters.hidden_layers = {20, 7};
  const Network network = MakeNetwork(parameters, kFeatures, kClasses);
  const NetworkState state = InitialState(network, parameters);
  const std::vector<MlpMetric> metrics = {{Kind::kLoss}, {Kind::kAccuracy}, {Kind::kAuc}};
  const auto on = [&](int ranks, int threads) {
    return RunRanks(MakeThreadRanks(ranks), [&, threads](Communicator* mine) {
      Crew crew(threads);
      return Evaluate(network, parameters, state, data, metrics, mine, &crew);
    });
  };
  const auto expected = on(1, 1)[0];
  REQUIRE(expected.ok());
  CHECK((*expected)[0] > 1);
  for (const auto& all : {on(1, 3), on(2, 1), on(3, 2)}) {
    for (const auto& result : all) CHECK((result.ok() && *result == *expected));
  }
}

}  // namespace
}  // namespace winnow::mlp
