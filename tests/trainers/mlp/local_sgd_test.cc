#include "trainers/mlp/parallel/local_sgd.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/trainers/mlp/share_task.h"

namespace winnow::mlp {
namespace {

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeLocalSgd(const TrainingContext& context,
                                                           NetworkState state) {
  return MakeLocalSgdTrainer(context, std::move(state), "");
}

std::vector<ShareOutcome> TrainLocalSgd(const ShareTask& task, int ranks, int epochs) {
  return TrainShares(task, ranks, 0, epochs, MakeLocalSgd);
}

float LargestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  float largest = a.size() == b.size() ? 0.0f : std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i)
    largest = std::max(largest, std::fabs(a[i] - b[i]));
  return largest;
}

TEST_CASE("LocalSgd: ranks end an epoch alike, with the same bits each time", "[mlp]") {
  ShareTask task;
  task.parameters.momentum = 0.9;
  const std::vector<ShareOutcome> ranks = TrainLocalSgd(task, 3, 2), again = TrainLocalSgd(task, 3, 2);
  for (const ShareOutcome& rank : ranks) {
    REQUIRE(rank.status.ok());
    CHECK(rank.state.parameters == ranks[0].state.parameters);
    CHECK(rank.state.slots[0] == ranks[0].state.slots[0]);
    CHECK(rank.epochs[1].loss == ranks[0].epochs[1].loss);
  }
  CHECK(again[0].state.parameters == ranks[0].state.parameters);
}

TEST_CASE("LocalSgd: trains as well with averages every 1, 8 or 40 steps", "[mlp]") {
  ShareTask task;
  for (const int64_t steps : {1, 8, 40}) {
    task.parameters.local_steps = steps;
    const ShareOutcome rank = TrainLocalSgd(task, 4, 5)[0];
    REQUIRE(rank.status.ok());
    CHECK(rank.epochs.back().rows_trained == task.train.rows);
    CHECK(rank.epochs.back().steps == 80);
    CHECK(rank.epochs.back().accuracy > 0.9);
    CHECK(rank.epochs.back().loss < 0.6 * rank.epochs.front().loss);
  }
}

// All rows in one batch, so that it does not matter which rank has which: the mean of equal parts' steps is
// the step of the mean gradient.
TEST_CASE("LocalSgd: averaged every step, without momentum, it is synchronous SGD", "[mlp]") {
  ShareTask task;
  task.parameters.local_steps = 1;
  task.parameters.batch_size = task.train.rows;
  task.parameters.learning_rate = 0.5;
  const ShareOutcome one = TrainLocalSgd(task, 1, 10)[0], four = TrainLocalSgd(task, 4, 10)[0];
  REQUIRE(one.status.ok());
  REQUIRE(four.status.ok());
  CHECK(one.epochs.back().loss < 0.9 * one.epochs.front().loss);
  CHECK(LargestDifference(one.state.parameters, four.state.parameters) < 1e-4f);
}

TEST_CASE("LocalSgd: loss and accuracy count a row by its weight, as those of ranks in step", "[mlp]") {
  ShareTask task;
  task.parameters.learning_rate = 1e-6;
  std::vector<float> weight(static_cast<std::size_t>(task.train.rows), 0.0f);
  for (std::size_t i = 0; i < weight.size(); ++i)
    if (task.train.label[i] == 0) weight[i] = 1 + static_cast<float>(i % 3);
  const EpochResult unweighted = TrainLocalSgd(task, 2, 1)[0].epochs.at(0);
  task.train.weight = weight;
  const EpochResult in_step = TrainShares(task, 2, 0, 1,
                                          [](const TrainingContext& context, NetworkState state) {
                                            return MakeEpochTrainer(context, std::move(state), "");
                                          })[0]
                                  .epochs.at(0);
  CHECK(std::fabs(in_step.loss - unweighted.loss) > 0.01);
  CHECK(std::fabs(in_step.accuracy - unweighted.accuracy) > 0.01);
  const EpochResult weighted = TrainLocalSgd(task, 2, 1)[0].epochs.at(0);
  CHECK(weighted.loss == Approx(in_step.loss).epsilon(1e-3));
  CHECK(weighted.accuracy == Approx(in_step.accuracy).epsilon(1e-2));
}

TEST_CASE("LocalSgd: running statistics are averaged too", "[mlp]") {
  ShareTask task;
  task.parameters.batch_norm = BatchNorm::kPerRank;
  const std::vector<ShareOutcome> ranks = TrainLocalSgd(task, 3, 2);
  REQUIRE(ranks[0].status.ok());
  CHECK(ranks[0].state.statistics !=
        InitialState(MakeNetwork(task.parameters, 12, 4), task.parameters).statistics);
  for (const ShareOutcome& rank : ranks) CHECK(rank.state.statistics == ranks[0].state.statistics);
}

TEST_CASE("LocalSgd: LINEAR gives each rank a whole batch", "[mlp]") {
  ShareTask task;
  task.parameters.batch_scaling = BatchScaling::kLinear;
  CHECK(TrainLocalSgd(task, 4, 1)[0].epochs.at(0).steps == 1600 / 20 / 4);
}

TEST_CASE("LocalSgd: two epochs after one are the three together", "[mlp]") {
  for (const OptimizerKind optimizer : {OptimizerKind::kSgd, OptimizerKind::kAdamW, OptimizerKind::kLamb}) {
    ShareTask task;
    task.parameters.optimizer = optimizer;
    task.parameters.momentum = 0.5;
    task.parameters.learning_rate = 0.01;
    const ShareOutcome all = TrainLocalSgd(task, 2, 3)[0], one = TrainLocalSgd(task, 2, 1)[0];
    REQUIRE(one.status.ok());
    const ShareOutcome rest = TrainShares(task, 2, 1, 3, MakeLocalSgd, &one.collected)[0];
    REQUIRE(rest.status.ok());
    CHECK(rest.state.parameters == all.state.parameters);
    CHECK(rest.collected.slots[1] == all.collected.slots[1]);
    CHECK(all.epochs[2].loss < all.epochs[0].loss);
  }
}

TEST_CASE("LocalSgd: sends 2 (N - 1) / N of the parameters and slots an average", "[mlp]") {
  ShareTask task;
  task.parameters.local_steps = 8;
  const ShareOutcome rank = TrainLocalSgd(task, 4, 1)[0];
  const double floats = static_cast<double>(rank.state.parameters.size() + rank.state.slots[0].size());
  const double averages = 80 / 8;
  CHECK(static_cast<double>(rank.epochs.at(0).bytes_sent) ==
        Approx(averages * 4 * 2 * 0.75 * floats * sizeof(float)).epsilon(0.05));
}

TEST_CASE("LocalSgd: a loss that is not finite ends all ranks, and says where", "[mlp]") {
  ShareTask task;
  task.parameters.learning_rate = 1e30;
  task.parameters.local_steps = 5;
  for (const ShareOutcome& rank : TrainLocalSgd(task, 3, 3)) {
    CHECK(rank.status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK(rank.status.message().find("at epoch 0, step ") != absl::string_view::npos);
  }
}

TEST_CASE("LocalSgd: all ranks stop when they have to", "[mlp]") {
  const std::atomic<bool> stop = true;
  ShareTask task;
  task.stop = &stop;
  for (const ShareOutcome& rank : TrainLocalSgd(task, 3, 1))
    CHECK(rank.status.code() == absl::StatusCode::kCancelled);
}

TEST_CASE("LocalSgd: batches that cannot be shared are refused", "[mlp]") {
  ShareTask task;
  for (const int64_t batch : {int64_t{3}, task.train.rows + 1}) {
    task.parameters.batch_size = batch;
    for (const ShareOutcome& rank : TrainLocalSgd(task, 4, 1))
      CHECK(rank.status.code() == absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace winnow::mlp
