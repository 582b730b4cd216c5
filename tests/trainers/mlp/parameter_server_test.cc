#include "trainers/mlp/parallel/parameter_server.h"

#include "tests/catch.h"
#include "tests/trainers/mlp/share_task.h"

namespace winnow::mlp {
namespace {

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServer(const TrainingContext& context,
                                                                  NetworkState state) {
  return MakeParameterServerTrainer(context, std::move(state), "");
}

std::vector<ShareOutcome> TrainParameterServer(const ShareTask& task, int ranks, int epochs) {
  return TrainShares(task, ranks, 0, epochs, MakeParameterServer);
}

TEST_CASE("ParameterServer: ranks end an epoch alike, every row trained and every push counted", "[mlp]") {
  const ShareTask task;
  for (const int size : {1, 2, 3}) {
    const std::vector<ShareOutcome> ranks = TrainParameterServer(task, size, 2);
    for (const ShareOutcome& rank : ranks) {
      REQUIRE(rank.status.ok());
      CHECK(rank.state.parameters == ranks[0].state.parameters);
      CHECK(rank.epochs[1].loss == ranks[0].epochs[1].loss);
      CHECK(rank.epochs[1].rows_trained == task.train.rows);
      CHECK(rank.state.step == rank.epochs[0].steps + rank.epochs[1].steps);
    }
  }
}

TEST_CASE("ParameterServer: four asynchronous workers learn, and say how stale", "[mlp]") {
  const ShareTask task;
  const ShareOutcome rank = TrainParameterServer(task, 4, 5)[0];
  REQUIRE(rank.status.ok());
  CHECK(rank.epochs.back().accuracy > 0.9);
  CHECK(rank.epochs.back().loss < 0.6 * rank.epochs.front().loss);
  REQUIRE(rank.epochs.back().more.size() == 2);
  CHECK(rank.epochs.back().more[0].first == "staleness-mean");
  CHECK(rank.epochs.back().more[1].first == "staleness-max");
  CHECK(rank.epochs.back().more[0].second > 0);
  CHECK(rank.epochs.back().more[1].second >= rank.epochs.back().more[0].second);
}

TEST_CASE("ParameterServer: a bound on staleness holds", "[mlp]") {
  ShareTask task;
  task.parameters.staleness_bound = 0;
  const ShareOutcome rank = TrainParameterServer(task, 4, 2)[0];
  REQUIRE(rank.status.ok());
  CHECK(rank.epochs.back().more[1].second <= 3);
}

// "Asynchrony begets momentum": four workers act like a momentum of 3/4 more, which 0.9 cannot bear. With a
// bound of 0 all four of a round push what they computed at the same parameters, whoever is faster.
TEST_CASE("ParameterServer: what is well for one worker collapses with four, unless momentum is corrected",
          "[mlp]") {
  ShareTask task;
  task.parameters.hidden_layers = {32, 16};
  task.parameters.batch_size = 40;
  task.parameters.learning_rate = 0.3;
  task.parameters.momentum = 0.9;
  task.parameters.staleness_bound = 0;
  const auto accuracy = [&](int ranks) {
    const ShareOutcome rank = TrainParameterServer(task, ranks, 5)[0];
    return rank.status.ok() ? rank.epochs.back().accuracy : 0;
  };
  CHECK(accuracy(1) > 0.85);
  CHECK(accuracy(4) < 0.6);
  task.parameters.implicit_momentum_correction = 1;
  CHECK(accuracy(4) > 0.85);
}

TEST_CASE("ParameterServer: running statistics become their mean over ranks", "[mlp]") {
  ShareTask task;
  task.parameters.batch_norm = BatchNorm::kPerRank;
  const std::vector<ShareOutcome> ranks = TrainParameterServer(task, 3, 2);
  REQUIRE(ranks[0].status.ok());
  CHECK(ranks[0].state.statistics !=
        InitialState(MakeNetwork(task.parameters, 12, 4), task.parameters).statistics);
  for (const ShareOutcome& rank : ranks) CHECK(rank.state.statistics == ranks[0].state.statistics);
  CHECK(ranks[0].epochs.back().accuracy > 0.8);
}

TEST_CASE("ParameterServer: a rank that leaves ends the others, and is named", "[mlp]") {
  const ShareTask task;
  const Network network = MakeNetwork(task.parameters, task.train.features, task.parameters.num_class);
  const std::vector<absl::Status> ended = RunRanks(3, [&](Communicator* communicator) {
    Crew crew(1);
    TrainingContext context{task.parameters, network, task.train};
    context.ranks = communicator;
    context.crew = &crew;
    const auto trainer = MakeParameterServer(context, InitialState(network, task.parameters));
    if (!trainer.ok() || communicator->rank() == 1) return trainer.status();
    return (*trainer)->Train(0).status();
  });
  CHECK(ended[1].ok());
  for (const int rank : {0, 2}) {
    CHECK(ended[rank].code() == absl::StatusCode::kUnavailable);
    CHECK(ended[rank].message().find("rank 1 is gone") == 0);
  }
}

TEST_CASE("ParameterServer: one rank's two epochs after one are the three together", "[mlp]") {
  ShareTask task;
  task.parameters.optimizer = OptimizerKind::kAdam;
  task.parameters.learning_rate = 0.01;
  const ShareOutcome all = TrainParameterServer(task, 1, 3)[0], one = TrainParameterServer(task, 1, 1)[0];
  REQUIRE(one.status.ok());
  const ShareOutcome rest = TrainShares(task, 1, 1, 3, MakeParameterServer, &one.collected)[0];
  REQUIRE(rest.status.ok());
  CHECK(rest.collected.parameters == all.collected.parameters);
  CHECK(rest.collected.slots[0] == all.collected.slots[0]);
  CHECK(rest.collected.slots[1] == all.collected.slots[1]);
}

TEST_CASE("ParameterServer: optimizer state is collected from all ranks, for any number of them", "[mlp]") {
  ShareTask task;
  task.parameters.momentum = 0.5;
  const ShareOutcome three = TrainParameterServer(task, 3, 1)[0];
  REQUIRE(three.status.ok());
  CHECK(three.collected.slots[0].size() == three.collected.parameters.size());
  CHECK(std::count(three.collected.slots[0].begin(), three.collected.slots[0].end(), 0.0f) <
        static_cast<int64_t>(three.collected.slots[0].size()) / 2);
  const std::vector<ShareOutcome> two = TrainShares(task, 2, 1, 2, MakeParameterServer, &three.collected);
  REQUIRE(two[0].status.ok());
  CHECK(two[0].epochs[0].loss < three.epochs[0].loss);
}

TEST_CASE("ParameterServer: sends 2 parameters a step, but what stays on the own rank", "[mlp]") {
  const ShareTask task;
  const ShareOutcome rank = TrainParameterServer(task, 4, 1)[0];
  REQUIRE(rank.status.ok());
  const double floats = static_cast<double>(rank.state.parameters.size());
  CHECK(static_cast<double>(rank.epochs[0].bytes_sent) ==
        Approx(static_cast<double>(rank.epochs[0].steps) * 2 * 0.75 * floats * sizeof(float)).epsilon(0.05));
}

TEST_CASE("ParameterServer: a loss that is not finite ends all ranks, and says where", "[mlp]") {
  ShareTask task;
  task.parameters.learning_rate = 1e30;
  for (const ShareOutcome& rank : TrainParameterServer(task, 3, 3)) {
    CHECK(rank.status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK(rank.status.message().find("at epoch 0, step ") != absl::string_view::npos);
  }
}

TEST_CASE("ParameterServer: all ranks stop when they have to", "[mlp]") {
  const std::atomic<bool> stop = true;
  ShareTask task;
  task.stop = &stop;
  for (const ShareOutcome& rank : TrainParameterServer(task, 3, 1))
    CHECK(rank.status.code() == absl::StatusCode::kCancelled);
}

TEST_CASE("ParameterServer: LAMB, and batches larger than a rank's rows, are refused", "[mlp]") {
  ShareTask lamb, large;
  lamb.parameters.optimizer = OptimizerKind::kLamb;
  large.parameters.batch_size = large.train.rows / 2;
  for (const ShareTask* task : {&lamb, &large})
    CHECK(TrainParameterServer(*task, 4, 1)[0].status.code() == absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace winnow::mlp
