#include "trainers/mlp/network/network.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"

namespace winnow::mlp {
namespace {

MlpParameters Widths(std::vector<int> hidden) {
  MlpParameters parameters;
  parameters.hidden_layers = std::move(hidden);
  parameters.seed = 7;
  return parameters;
}

TEST_CASE("Network: layers follow each other, each in runs padded to 16", "[mlp]") {
  const Network network = MakeNetwork(Widths({20, 16}), 5, 3);
  REQUIRE(network.layers.size() == 3);
  CHECK(network.inputs() == 5);
  CHECK(network.outputs() == 3);
  std::size_t begin = 0;
  for (const Layer& layer : network.layers) {
    CHECK(layer.begin() == begin);
    CHECK(layer.bias == begin + layer.weight_count());
    CHECK(layer.end == layer.bias + layer.padded());
    CHECK(layer.end % kPanel == 0);
    begin = layer.end;
  }
  CHECK(network.parameters == begin);
  CHECK(network.layers[1].inputs == 20);
  CHECK(network.layers[1].activated);
  CHECK_FALSE(network.layers[2].activated);
  CHECK(network.TrainableCount() == 5 * 20 + 20 + 20 * 16 + 16 + 16 * 3 + 3);
}

TEST_CASE("Network: hidden layers have batch norm, the last has none", "[mlp]") {
  MlpParameters parameters = Widths({20, 16});
  parameters.batch_norm = BatchNorm::kPerRank;
  const Network network = MakeNetwork(parameters, 5, 3);
  CHECK(network.layers[0].batch_norm);
  CHECK_FALSE(network.layers[2].batch_norm);
  CHECK(network.layers[0].gamma == network.layers[0].bias + 32);
  CHECK(network.layers[0].beta == network.layers[0].gamma + 32);
  CHECK(network.layers[1].statistics == 64);
  CHECK(network.statistics == 64 + 32);
  CHECK(network.TrainableCount() == 5 * 20 + 3 * 20 + 20 * 16 + 3 * 16 + 16 * 3 + 3);
  const NetworkState state = InitialState(network, parameters);
  const Layer& first = network.layers[0];
  CHECK(state.parameters[first.gamma + 19] == 1);
  CHECK(state.parameters[first.gamma + 20] == 0);
  CHECK(state.parameters[first.beta] == 0);
  CHECK(state.statistics[first.statistics] == 0);
  CHECK(state.statistics[first.statistics + 32 + 19] == 1);
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};
Moments WeightMoments(const Layer& layer, const NetworkState& state) {
  Moments moments;
  const double count = static_cast<double>(layer.inputs) * layer.outputs;
  double squares = 0;
  for (int i = 0; i < layer.inputs; ++i) {
    for (int o = 0; o < layer.outputs; ++o) {
      const double weight = state.parameters[layer.WeightAt(i, o)];
      moments.mean += weight / count;
      squares += weight * weight / count;
      moments.largest = std::max(moments.largest, std::fabs(weight));
    }
  }
  moments.deviation = std::sqrt(squares - moments.mean * moments.mean);
  return moments;
}

TEST_CASE("InitialState: by default weights are uniform within 1 / sqrt(inputs)", "[mlp]") {
  const MlpParameters parameters = Widths({300});
  const Network network = MakeNetwork(parameters, 400, 3);
  const NetworkState state = InitialState(network, parameters);
  for (const Layer& layer : network.layers) {
    const Moments moments = WeightMoments(layer, state);
    const double half = 1 / std::sqrt(layer.inputs);
    CHECK(moments.largest <= half);
    CHECK(moments.largest > 0.98 * half);
    CHECK(moments.deviation == Approx(half / std::sqrt(3.0)).epsilon(0.05));
  }
}

TEST_CASE("InitialState: He's weights are normal with variance 2 / inputs", "[mlp]") {
  MlpParameters parameters = Widths({300});
  parameters.weight_init = WeightInit::kHe;
  const Network network = MakeNetwork(parameters, 400, 3);
  const NetworkState state = InitialState(network, parameters);
  const Moments moments = WeightMoments(network.layers[0], state);
  const double expected = std::sqrt(2.0 / 400);
  CHECK(std::fabs(moments.mean) < 4 * expected / std::sqrt(120'000.0));
  CHECK(moments.deviation == Approx(expected).epsilon(0.01));
  CHECK(moments.largest > 4 * expected);  // a normal's 1 in 16,000
  int beyond = 0;                         // two deviations: 4.55 % of a normal
  for (int i = 0; i < 400; ++i)
    for (int o = 0; o < 300; ++o)
      beyond += std::fabs(state.parameters[network.layers[0].WeightAt(i, o)]) > 2 * expected;
  CHECK(beyond / 120'000.0 == Approx(0.0455).epsilon(0.05));
}

TEST_CASE("InitialState: Glorot's weights are uniform within sqrt(6 / (inputs + outputs))", "[mlp]") {
  MlpParameters parameters = Widths({300});
  parameters.weight_init = WeightInit::kGlorot;
  const Network network = MakeNetwork(parameters, 400, 3);
  const Moments moments = WeightMoments(network.layers[0], InitialState(network, parameters));
  const double half = std::sqrt(6.0 / 700);
  CHECK(moments.largest <= half);
  CHECK(moments.largest > 0.999 * half);
  CHECK(moments.deviation == Approx(half / std::sqrt(3.0)).epsilon(0.01));
}

TEST_CASE("InitialState: a weight depends on the seed and its place only, and what pads is 0", "[mlp]") {
  MlpParameters parameters = Widths({20, 16});
  const Network narrow = MakeNetwork(parameters, 5, 3), wide = MakeNetwork(Widths({40, 16}), 5, 3);
  const NetworkState one = InitialState(narrow, parameters), other = InitialState(wide, parameters);
  CHECK(one.parameters[narrow.layers[0].WeightAt(4, 19)] == other.parameters[wide.layers[0].WeightAt(4, 19)]);
  CHECK(one.parameters[narrow.layers[0].WeightAt(4, 15)] != one.parameters[narrow.layers[1].WeightAt(4, 15)]);
  CHECK(one.parameters == InitialState(narrow, parameters).parameters);
  CHECK(one.parameters[narrow.layers[0].WeightAt(4, 20)] == 0);
  CHECK(one.parameters[narrow.layers[0].bias] == 0);
  parameters.seed = 8;
  CHECK(one.parameters != InitialState(narrow, parameters).parameters);
}

// Weights as Wichura's AS 241 and SplitMix64 give them, worked out apart from this program.
TEST_CASE("InitialState: the same numbers on every machine", "[mlp]") {
  MlpParameters parameters = Widths({300});
  parameters.weight_init = WeightInit::kHe;
  const Network network = MakeNetwork(parameters, 400, 3);
  const NetworkState state = InitialState(network, parameters);
  const Layer& first = network.layers[0];
  CHECK(state.parameters[first.WeightAt(0, 0)] == 0x1.bd9abap-6f);
  CHECK(state.parameters[first.WeightAt(1, 2)] == 0x1.1bc55ep-4f);
  CHECK(state.parameters[first.WeightAt(399, 299)] == 0x1.283288p-6f);
}

TEST_CASE("InitialState: momentum takes one slot, Adam two, plain SGD none", "[mlp]") {
  MlpParameters parameters = Widths({20});
  const Network network = MakeNetwork(parameters, 5, 3);
  CHECK(InitialState(network, parameters).slots[0].empty());
  parameters.momentum = 0.9;
  CHECK(InitialState(network, parameters).slots[0].size() == network.parameters);
  CHECK(InitialState(network, parameters).slots[1].empty());
  parameters.optimizer = OptimizerKind::kAdam;
  CHECK(InitialState(network, parameters).slots[1].size() == network.parameters);
}

}  // namespace
}  // namespace winnow::mlp
