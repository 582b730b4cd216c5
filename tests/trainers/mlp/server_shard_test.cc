#include "trainers/mlp/parallel/server_shard.h"

#include <vector>

#include "tests/catch.h"
#include "trainers/mlp/parallel/parameter_server_ends.h"

namespace winnow::mlp {
namespace {

constexpr int64_t kEpochSteps = 100;

// A layer of 2 inputs and 1 output: 32 weights (2 of them in use) and 16 biases. All of it is one shard.
struct OneLayer {
  explicit OneLayer(MlpParameters given) : parameters(given) {
    parameters.hidden_layers = {};
    network = MakeNetwork(parameters, 2, 1);
    state = InitialState(network, parameters);
    std::fill(state.parameters.begin(), state.parameters.end(), 1.0f);
  }
  ServerShard Shard(int workers) const {
    return ServerShard(parameters, network, workers, {0, static_cast<int64_t>(network.parameters)}, state);
  }
  MlpParameters parameters;
  Network network;
  NetworkState state;
};

MlpParameters Sgd(double rate, double momentum) {
  MlpParameters parameters;
  parameters.learning_rate = rate;
  parameters.momentum = momentum;
  return parameters;
}

// Pushes a gradient of `g` everywhere.
void Push(ServerShard* shard, int worker, int64_t step, float g) {
  std::vector<float> gradient(shard->parameters().size(), g);
  shard->Push(worker, step, kEpochSteps, gradient);
}

TEST_CASE("ServerShard: a push is one step of SGD, its version one more", "[mlp]") {
  const OneLayer layer(Sgd(0.25, 0));
  ServerShard shard = layer.Shard(2);
  Push(&shard, 0, 0, 1);
  Push(&shard, 1, 0, 2);
  CHECK(shard.version() == 2);
  for (const float value : shard.parameters()) CHECK(value == 1 - 0.25f * 3);
}

TEST_CASE("ServerShard: staleness is what others pushed between a pull and its push", "[mlp]") {
  const OneLayer layer(Sgd(0.25, 0));
  ServerShard shard = layer.Shard(3);
  Push(&shard, 0, 0, 0);  // 0
  shard.Pull(0);
  Push(&shard, 1, 0, 0);  // 1
  Push(&shard, 0, 1, 0);  // 1
  Push(&shard, 2, 0, 0);  // 3
  const StalenessCount count = shard.TakeStaleness();
  CHECK(count.sum == 5);
  CHECK(count.most == 3);
  CHECK(count.pushes == 4);
  CHECK(shard.TakeStaleness().pushes == 0);
}

TEST_CASE("ServerShard: staleness_aware divides a step by its staleness, where that is above 1", "[mlp]") {
  MlpParameters parameters = Sgd(0.5, 0);
  parameters.staleness_aware = true;
  const OneLayer layer(parameters);
  ServerShard shard = layer.Shard(3);
  Push(&shard, 0, 0, 0.25f);
  Push(&shard, 1, 0, 0.25f);
  CHECK(shard.parameters()[0] == 0.75f);  // both whole
  Push(&shard, 2, 0, 0.25f);
  CHECK(shard.parameters()[0] == 0.75f - 0.5f / 2 * 0.25f);
}

TEST_CASE("ServerShard: staleness_aware scales what a gradient adds to the momentum, and Adam's step",
          "[mlp]") {
  MlpParameters parameters = Sgd(0.5, 0.5);
  parameters.staleness_aware = true;
  const auto shard_after_two = [&](const OneLayer& layer) {
    ServerShard shard = layer.Shard(3);
    Push(&shard, 0, 0, 1);
    Push(&shard, 1, 0, 1);
    return shard;
  };
  const OneLayer layer(parameters);
  ServerShard shard = shard_after_two(layer);  // momentum 1 + 1/2
  Push(&shard, 2, 0, 1);
  CHECK(shard.slot(0)[0] == 0.5f * 1.5f + 1.0f / 2);

  parameters.optimizer = OptimizerKind::kAdam;
  const OneLayer adam(parameters);
  ServerShard moved = shard_after_two(adam);
  const float before = moved.parameters()[0];
  Push(&moved, 2, 0, 1);
  CHECK(before - moved.parameters()[0] == Approx(0.5 / 2).epsilon(1e-4));
}

TEST_CASE("ServerShard: delay compensation adds lambda g g (w - w as that worker pulled it)", "[mlp]") {
  MlpParameters parameters = Sgd(0.5, 0);
  parameters.delay_compensation = 2;
  const OneLayer layer(parameters);
  ServerShard shard = layer.Shard(2);
  Push(&shard, 0, 0, 1);
  CHECK(shard.parameters()[0] == 0.5f);  // nothing had moved
  Push(&shard, 1, 0, 1);                 // w has moved by -1/2 since: g = 1 + 2 * 1 * -1/2 = 0
  CHECK(shard.parameters()[0] == 0.5f);
  shard.Pull(1);
  Push(&shard, 1, 1, 0.5f);
  CHECK(shard.parameters()[0] == 0.25f);
}

TEST_CASE("ServerShard: the implicit momentum is taken off the momentum, down to none", "[mlp]") {
  const auto moved_by_second = [](double momentum, double correction, int workers) {
    MlpParameters parameters = Sgd(1, momentum);
    parameters.implicit_momentum_correction = correction;
    const OneLayer layer(parameters);
    ServerShard shard = layer.Shard(workers);
    Push(&shard, 0, 0, 1);
    const float before = shard.parameters()[0];
    Push(&shard, 0, 1, 0);  // nothing but momentum moves it
    return before - shard.parameters()[0];
  };
  CHECK(moved_by_second(0.875, 0, 4) == 0.875f);
  CHECK(moved_by_second(0.875, 0.5, 4) == 0.5f);
  CHECK(moved_by_second(0.875, 1, 2) == 0.375f);
  CHECK(moved_by_second(0.5, 1, 4) == 0);
  CHECK(moved_by_second(0.875, 1, 1) == 0.875f);
}

TEST_CASE("ServerShard: the rate follows the worker's step, Adam's corrections the updates", "[mlp]") {
  MlpParameters parameters = Sgd(1, 0);
  parameters.schedule = ScheduleKind::kStep;
  parameters.step_epochs = 1;
  parameters.step_factor = 0.5;
  const OneLayer layer(parameters);
  ServerShard shard = layer.Shard(2);
  Push(&shard, 0, kEpochSteps, 1);  // already in its second epoch
  CHECK(shard.parameters()[0] == 0.5f);
  Push(&shard, 1, kEpochSteps - 1, 1);
  CHECK(shard.parameters()[0] == -0.5f);

  parameters = Sgd(0.5, 0);
  parameters.optimizer = OptimizerKind::kAdam;
  const OneLayer adam(parameters);
  ServerShard moved = adam.Shard(2);
  Push(&moved, 0, 0, 1);
  Push(&moved, 1, 0, 1);  // the second update of a constant gradient: again the whole rate
  CHECK(moved.parameters()[0] == Approx(0).margin(1e-4));
}

TEST_CASE("ServerShard: weights decay, biases do not, wherever the run is cut", "[mlp]") {
  MlpParameters parameters = Sgd(0.5, 0);
  parameters.weight_decay = 0.5;
  const OneLayer layer(parameters);
  ServerShard shard(layer.parameters, layer.network, 1, {16, 48}, layer.state);
  Push(&shard, 0, 0, 0);
  CHECK(shard.parameters()[0] == 0.75f);
  CHECK(shard.parameters()[15] == 0.75f);
  CHECK(shard.parameters()[16] == 1);
  CHECK(shard.parameters()[31] == 1);
}

TEST_CASE("StalenessGate: who is more than the bound ahead of the slowest waits for it", "[mlp]") {
  StalenessGate gate(2, 1);
  gate.Advance(0);
  CHECK(gate.MayGoOn(0));
  gate.Advance(0);
  CHECK_FALSE(gate.MayGoOn(0));
  CHECK(gate.MayGoOn(1));
  gate.Advance(1);
  CHECK(gate.MayGoOn(0));
}

TEST_CASE("StalenessGate: nobody waits for who has left, nor without a bound", "[mlp]") {
  StalenessGate gate(2, 0), open(2, -1);
  for (int step = 0; step < 5; ++step) {
    gate.Advance(0);
    open.Advance(0);
  }
  CHECK(open.MayGoOn(0));
  CHECK_FALSE(gate.MayGoOn(0));
  gate.Leave(1);
  CHECK(gate.MayGoOn(0));
  CHECK_FALSE(gate.AllLeft());
  gate.Leave(0);
  CHECK(gate.AllLeft());
}

}  // namespace
}  // namespace winnow::mlp
