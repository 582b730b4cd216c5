#include "trainers/mlp/parallel/rank_share.h"

#include <cmath>
#include <numeric>

#include "tests/catch.h"
#include "tests/trainers/mlp/share_task.h"
#include "trainers/collective/communicator.h"

namespace winnow::mlp {
namespace {

// The gradient of one batch, and how its loss moves when one parameter does.
struct Probe {
  explicit Probe(const MlpParameters& of)
      : parameters(of),
        data(ClassesAround(64, 12)),
        network(MakeNetwork(parameters, 12, parameters.loss == LossKind::kCrossEntropy ? 4 : 1)),
        state(InitialState(network, parameters)),
        rows(48),
        gradient(network.parameters) {
    std::iota(rows.begin(), rows.end(), 3);
    context.ranks = ranks.get();
    context.crew = &crew;
  }

  double LossAt(std::span<const float> at, std::span<float> result) {
    LocalGradients gradients(context, 48);
    std::vector<float> statistics = state.statistics;
    const absl::StatusOr<BatchSums> sums = gradients.Compute(at, statistics, rows, 5, result);
    return sums.ok() ? sums->loss / static_cast<double>(sums->rows) : std::nan("");
  }

  const MlpParameters parameters;
  const DenseData data;
  const Network network;
  NetworkState state;
  std::vector<int64_t> rows;
  std::vector<float> gradient;
  std::unique_ptr<Communicator> ranks = MakeSoleRank();
  Crew crew{1};
  TrainingContext context{parameters, network, data};
};

// A few weights, a bias, and batch norm's parameters, if any, of each layer.
std::vector<std::size_t> SomeParameters(const Network& network) {
  std::vector<std::size_t> chosen;
  for (const Layer& layer : network.layers) {
    for (int i = 0; i < 6; ++i) chosen.push_back(layer.WeightAt(i * 5 % layer.inputs, i * 3 % layer.outputs));
    if (!layer.batch_norm) {
      chosen.push_back(layer.bias);
      continue;
    }
    chosen.push_back(layer.gamma + 1);
    chosen.push_back(layer.beta);
  }
  return chosen;
}

TEST_CASE("LocalGradients: the gradient is the loss's slope, under every activation, loss and batch norm",
          "[mlp]") {
  for (const Activation activation : {Activation::kLeakyRelu, Activation::kGelu, Activation::kTanh}) {
    for (const LossKind loss : {LossKind::kCrossEntropy, LossKind::kSquared, LossKind::kHuber}) {
      for (const BatchNorm batch_norm : {BatchNorm::kNone, BatchNorm::kSynchronised}) {
        MlpParameters parameters;
        parameters.hidden_layers = {20, 9};
        parameters.activation = activation;
        parameters.leaky_slope = 0.3;
        parameters.loss = loss;
        parameters.batch_norm = batch_norm;
        parameters.dropout = 0.2;
        parameters.label_smoothing = loss == LossKind::kCrossEntropy ? 0.1 : 0;
        Probe probe(parameters);
        probe.LossAt(probe.state.parameters, probe.gradient);
        std::vector<float> ignored(probe.network.parameters);
        double worst = 0, largest = 0;
        for (const std::size_t at : SomeParameters(probe.network)) {
          constexpr float kStep = 0.004f;
          std::vector<float> moved = probe.state.parameters;
          moved[at] += kStep;
          const double above = probe.LossAt(moved, ignored);
          moved[at] -= 2 * kStep;
          const double slope = (above - probe.LossAt(moved, ignored)) / (2 * kStep);
          worst = std::max(worst, std::fabs(slope - probe.gradient[at]));
          largest = std::max(largest, std::fabs(slope));
        }
        CAPTURE(static_cast<int>(activation), static_cast<int>(loss), static_cast<int>(batch_norm), largest);
        CHECK(largest > 0.01);
        CHECK(worst < 0.02 * largest + 2e-3);
      }
    }
  }
}

TEST_CASE("LocalGradients: a row's weight counts as so many rows", "[mlp]") {
  MlpParameters parameters;
  parameters.hidden_layers = {8};
  Probe probe(parameters);
  probe.rows = {1, 2, 2, 2, 3, 3};
  std::vector<float> repeated(probe.network.parameters), weighted(probe.network.parameters);
  const double loss = probe.LossAt(probe.state.parameters, repeated);
  std::vector<float> weight(64, 1.0f);
  weight[2] = 3;
  weight[3] = 2;
  DenseData data = probe.data;
  data.weight = weight;
  TrainingContext context{probe.parameters, probe.network, data};
  context.ranks = probe.ranks.get();
  context.crew = &probe.crew;
  LocalGradients gradients(context, 3);
  const std::vector<int64_t> rows = {1, 2, 3};
  const absl::StatusOr<BatchSums> sums = gradients.Compute(probe.state.parameters, {}, rows, 5, weighted);
  REQUIRE(sums.ok());
  CHECK(sums->weight == 6);
  CHECK(sums->loss / sums->weight == Approx(loss));
  for (std::size_t i = 0; i < repeated.size(); ++i) CHECK(weighted[i] == Approx(repeated[i]).margin(1e-6));
}

}  // namespace
}  // namespace winnow::mlp
