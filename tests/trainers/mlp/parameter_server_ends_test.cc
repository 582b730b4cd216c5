#include "trainers/mlp/parallel/parameter_server_ends.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/trainers/collective/run_ranks.h"

namespace winnow::mlp {
namespace {

// A network whose parameters are the numbers of a plain problem.
struct Problem {
  Problem() {
    parameters.hidden_layers = {};
    parameters.learning_rate = 0x1p-10;
    network = MakeNetwork(parameters, 8, 3);
    state = InitialState(network, parameters);
    std::fill(state.parameters.begin(), state.parameters.end(), 0.0f);
  }
  std::vector<Part> Runs(int ranks) const {
    std::vector<Part> runs;
    for (int r = 0; r < ranks; ++r) runs.push_back(PartOf(network.parameters, r, ranks, kPanel));
    return runs;
  }
  MlpParameters parameters;
  Network network;
  NetworkState state;
};

std::vector<std::unique_ptr<Messenger>> ConnectedMessengers(int ranks) {
  std::vector<std::unique_ptr<Messenger>> all;
  for (auto& messenger : RunRanks(ranks, [](Communicator* group) { return ConnectMessenger(group); }))
    all.push_back(std::move(messenger).value());
  return all;
}

struct Outcome {
  absl::Status status;
  std::vector<float> parameters;  // of all servers
  StalenessCount staleness;
  int64_t version = 0;
  uint64_t bytes_sent = 0;
};

// One epoch in which the worker of rank r makes steps[r] steps; gradient(rank, parameters) is of its step.
template <typename Gradient>
Outcome RunEpoch(const Problem& problem, const std::vector<int64_t>& steps, Gradient gradient) {
  const int ranks = static_cast<int>(steps.size());
  const std::vector<Part> runs = problem.Runs(ranks);
  std::vector<std::unique_ptr<Messenger>> messengers = ConnectedMessengers(ranks);
  std::vector<ServerShard> shards;
  for (int r = 0; r < ranks; ++r)
    shards.emplace_back(problem.parameters, problem.network, ranks, runs[r], problem.state);

  std::vector<absl::Status> served(ranks), worked(ranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    Messenger* const messenger = messengers[r].get();
    threads.emplace_back([&, r, messenger] {
      served[r] = ServeEpoch(messenger, problem.parameters.staleness_bound, &shards[r], nullptr, 0);
      if (!served[r].ok()) messenger->Fail(served[r]);
    });
    threads.emplace_back([&, r, messenger] {
      ParameterClient client(messenger, runs);
      std::vector<float> parameters = problem.state.parameters;
      for (int64_t step = 0; step < steps[r] && worked[r].ok(); ++step) {
        const bool last = step + 1 == steps[r];
        worked[r] = client.Push(step, steps[r], last, gradient(r, parameters));
        if (worked[r].ok() && !last) worked[r] = client.Pull(parameters);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  Outcome outcome;
  for (int r = 0; r < ranks; ++r) {
    outcome.status.Update(served[r]);
    outcome.status.Update(worked[r]);
    outcome.parameters.insert(outcome.parameters.end(), shards[r].parameters().begin(),
                              shards[r].parameters().end());
    outcome.version = shards[r].version();
    const StalenessCount count = shards[r].TakeStaleness();
    outcome.staleness.most = std::max(outcome.staleness.most, count.most);
    outcome.staleness.pushes += count.pushes;
    outcome.bytes_sent += messengers[r]->bytes_sent();
  }
  return outcome;
}

auto Constant(float value) {
  return [value](int, const std::vector<float>& w) { return std::vector<float>(w.size(), value); };
}

TEST_CASE("ServeEpoch: every push is applied once, however many workers and steps", "[mlp]") {
  const Problem problem;
  for (const std::vector<int64_t>& steps :
       {std::vector<int64_t>{5}, std::vector<int64_t>{40, 40}, std::vector<int64_t>{50, 49, 1, 30}}) {
    int64_t all = 0;
    for (const int64_t each : steps) all += each;
    const Outcome outcome = RunEpoch(problem, steps, Constant(-1));
    REQUIRE(outcome.status.ok());
    CHECK(outcome.version == all);
    CHECK(outcome.staleness.pushes == all * static_cast<int64_t>(steps.size()));
    const float each = static_cast<float>(all) * 0x1p-10f;
    CHECK(outcome.parameters == std::vector<float>(problem.network.parameters, each));
  }
}

TEST_CASE("ServeEpoch: a bound keeps staleness below (ranks - 1) (2 bound + 1)", "[mlp]") {
  Problem problem;
  for (const int64_t bound : {0, 1, 4}) {
    problem.parameters.staleness_bound = bound;
    const Outcome outcome = RunEpoch(problem, {200, 200, 200}, Constant(0));
    REQUIRE(outcome.status.ok());
    CHECK(outcome.staleness.most <= 2 * (2 * bound + 1));
  }
}

TEST_CASE("ServeEpoch: whom a bound holds up goes on when the slower are done", "[mlp]") {
  Problem problem;
  problem.parameters.staleness_bound = 0;
  const Outcome outcome = RunEpoch(problem, {100, 3}, Constant(-1));
  REQUIRE(outcome.status.ok());
  CHECK(outcome.version == 103);
}

TEST_CASE("ServeEpoch: workers together find the minimum", "[mlp]") {
  Problem problem;
  problem.parameters.learning_rate = 0.05;
  problem.parameters.staleness_bound = 2;  // else one could be left with the last steps alone
  // Each pulls to its own target; the minimum of the sum is their mean.
  const Outcome outcome = RunEpoch(problem, {400, 400, 400}, [](int rank, std::vector<float> w) {
    for (float& each : w) each -= static_cast<float>(rank);
    return w;
  });
  REQUIRE(outcome.status.ok());
  for (const float value : outcome.parameters) CHECK(value == Approx(1).margin(0.5));
}

TEST_CASE("ServeEpoch: sends each step's gradient and newest parameters once", "[mlp]") {
  const Problem problem;
  constexpr int64_t kSteps = 50;
  const Outcome outcome = RunEpoch(problem, {kSteps, kSteps}, Constant(0));
  const double floats = static_cast<double>(problem.network.parameters) / 2;  // what is with the other rank
  const double headers = kSteps * sizeof(PushHeader) + (kSteps - 1) * sizeof(PullHeader);
  CHECK(outcome.bytes_sent == 2 * ((2 * kSteps - 1) * floats * sizeof(float) + headers));
}

TEST_CASE("ServeEpoch: a worker's failure ends all, with its reason", "[mlp]") {
  const Problem problem;
  std::vector<std::unique_ptr<Messenger>> messengers = ConnectedMessengers(2);
  ServerShard shard(problem.parameters, problem.network, 2, problem.Runs(2)[0], problem.state);
  messengers[1]->Fail(absl::FailedPreconditionError("loss is nan"));
  CHECK(ServeEpoch(messengers[0].get(), -1, &shard, nullptr, 0) ==
        absl::FailedPreconditionError("rank 1: loss is nan"));
}

TEST_CASE("ServeEpoch: a message that is not due is refused, and who sent it named", "[mlp]") {
  const Problem problem;
  const Part run = problem.Runs(2)[0];
  const std::vector<float> gradient(static_cast<std::size_t>(run.end - run.begin));
  const std::string good = MessageBytes(PushHeader{0, 10, 0, 1}, std::span<const float>(gradient));
  for (const std::string& bad :
       {std::string("x"), good + "x", good.substr(0, good.size() - 4), std::string(good.size(), '\xff'),
        MessageBytes(PushHeader{0, 10, 1, 0}, std::span<const float>(gradient)),
        MessageBytes(PushHeader{-1, 10, 0, 0}, std::span<const float>(gradient)),
        MessageBytes(PushHeader{0, 0, 0, 0}, std::span<const float>(gradient))}) {
    std::vector<std::unique_ptr<Messenger>> messengers = ConnectedMessengers(2);
    ServerShard shard(problem.parameters, problem.network, 2, run, problem.state);
    REQUIRE(messengers[1]->Send(0, kPushTag, std::as_bytes(std::span<const char>(bad))).ok());
    const absl::Status status = ServeEpoch(messengers[0].get(), -1, &shard, nullptr, 0);
    CHECK(status.code() == absl::StatusCode::kInternal);
    CHECK(status.message().find("rank 1 sent a gradient that is not due") == 0);
    CHECK(shard.version() == 0);
  }
}

TEST_CASE("ServeEpoch: one push sent twice is not applied twice", "[mlp]") {
  const Problem problem;
  const Part run = problem.Runs(2)[0];
  const std::vector<float> gradient(static_cast<std::size_t>(run.end - run.begin), -1.0f);
  const std::string push = MessageBytes(PushHeader{0, 10, 0, 0}, std::span<const float>(gradient));
  std::vector<std::unique_ptr<Messenger>> messengers = ConnectedMessengers(2);
  ServerShard shard(problem.parameters, problem.network, 2, run, problem.state);
  for (int time = 0; time < 2; ++time)
    REQUIRE(messengers[1]->Send(0, kPushTag, std::as_bytes(std::span<const char>(push))).ok());
  CHECK_FALSE(ServeEpoch(messengers[0].get(), -1, &shard, nullptr, 0).ok());
  CHECK(shard.version() == 1);
}

}  // namespace
}  // namespace winnow::mlp
