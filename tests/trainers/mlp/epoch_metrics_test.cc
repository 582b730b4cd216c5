#include "trainers/mlp/epoch_metrics.h"

#include <cmath>
#include <limits>
#include <memory>

#include "base/status_text.h"
#include "tests/catch.h"

namespace winnow::mlp {
namespace {

using Names = std::vector<std::string>;

EpochResult Of(double loss, double accuracy, int64_t rows) {
  EpochResult result;
  result.loss = loss;
  result.accuracy = accuracy;
  result.rows_seen = rows;
  return result;
}

// Everything that an epoch of four rows of one feature is measured with.
struct Measuring {
  MlpParameters parameters;
  DenseData data = MakeDenseData(1, {-2, -1, 1, 2}, {0, 0, 1, 1});
  Network network;
  NetworkState state;
  std::unique_ptr<Communicator> ranks = MakeSoleRank();
  Crew crew{1};
  std::unique_ptr<TrainingContext> context;

  Measuring(LossKind loss, const std::vector<std::string>& metrics) {
    parameters.hidden_layers = {4};
    parameters.loss = loss;
    parameters.metrics = metrics;
    network = MakeNetwork(parameters, 1, loss == LossKind::kCrossEntropy ? 2 : 1);
    state = InitialState(network, parameters);
    context = std::make_unique<TrainingContext>(TrainingContext{
        .parameters = parameters, .network = network, .train = data, .ranks = ranks.get(), .crew = &crew});
  }
  EpochMetrics Metrics(bool validates) const {
    return {*context, data, validates ? &data : nullptr, *MlpMetrics(parameters)};
  }
};

TEST_CASE("EpochMetrics: what training has seen, then the validation data, then the speed", "[mlp]") {
  const Measuring measuring(LossKind::kCrossEntropy, {"error", "auc", "loss"});
  const EpochMetrics metrics = measuring.Metrics(true);
  CHECK(metrics.names() == Names{"train-error", "train-loss", "validation-error", "validation-auc",
                                 "validation-loss", "samples-per-second"});
  const EpochResult result = Of(0.5, 0.75, 4);
  const auto values = metrics.Measure(0, measuring.state, result, 0.5);
  REQUIRE(values.ok());
  CHECK((*values)[0] == 0.25);
  CHECK((*values)[1] == 0.5);
  CHECK((*values)[5] == 8);
  REQUIRE(metrics.deciding());
  CHECK(metrics.deciding()->position == 4);
  CHECK_FALSE(metrics.deciding()->higher_is_better);
}

TEST_CASE("EpochMetrics: without validation data the training data are measured for what is not seen",
          "[mlp]") {
  CHECK(Measuring(LossKind::kLogistic, {}).Metrics(false).names() ==
        Names{"train-loss", "train-auc", "samples-per-second"});
  CHECK(Measuring(LossKind::kLogistic, {}).Metrics(true).names() ==
        Names{"train-loss", "validation-loss", "validation-auc", "samples-per-second"});
  CHECK_FALSE(Measuring(LossKind::kLogistic, {}).Metrics(false).deciding());
  const Measuring squared(LossKind::kSquared, {"rmse"});
  const auto values = squared.Metrics(false).Measure(0, squared.state, Of(9, 0, 4), 1);
  REQUIRE(values.ok());
  CHECK(*values == std::vector<double>{3, 4});
}

TEST_CASE("EpochMetrics: a network that answers no numbers has diverged", "[mlp]") {
  Measuring measuring(LossKind::kSquared, {"rmse"});
  measuring.parameters.learning_rate = 5;
  measuring.state.parameters[measuring.network.layers.back().bias] = std::numeric_limits<float>::infinity();
  const auto values = measuring.Metrics(true).Measure(3, measuring.state, Of(1, 0, 4), 1);
  CHECK(absl::IsFailedPrecondition(values.status()));
  CHECK_THAT(MessageOf(values.status()),
             Catch::Matches("validation-rmse is (nan|inf) after epoch 3: the learning rate may be too high "
                            "\\(learning_rate = 5\\)"));
}

}  // namespace
}  // namespace winnow::mlp
