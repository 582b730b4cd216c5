#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/trainers/mlp/share_task.h"
#include "trainers/mlp/parallel/pipeline_trainer.h"
#include "trainers/mlp/parallel/synchronous_trainer.h"

namespace winnow::mlp {
namespace {

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakePipeline(const TrainingContext& context,
                                                           NetworkState state) {
  return MakePipelineTrainer(context, std::move(state), "");
}

std::vector<ShareOutcome> Pipelined(ShareTask task, int ranks, int stages = 0, int epochs = 3) {
  task.parameters.distribution = Distribution::kPipeline;
  task.parameters.pipeline_stages = stages;
  return TrainShares(task, ranks, 0, epochs, MakePipeline);
}

ShareOutcome Alone(const ShareTask& task, int epochs = 3) {
  return TrainShares(task, 1, 0, epochs, [](const TrainingContext& context, NetworkState state) {
    return MakeSynchronousTrainer(context, std::move(state), "");
  })[0];
}

// Four layers; 533 rows in batches of 96, of which the last has 53.
ShareTask LayersTask() {
  ShareTask task;
  task.train = ClassesAround(533, 12);
  task.parameters.hidden_layers = {40, 24, 20};
  task.parameters.batch_size = 96;
  task.parameters.momentum = 0.9;
  return task;
}

bool SameBytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

bool SameStateBytes(const NetworkState& a, const NetworkState& b) {
  return SameBytes(a.parameters, b.parameters) && SameBytes(a.slots[0], b.slots[0]) &&
         SameBytes(a.slots[1], b.slots[1]) && a.step == b.step;
}

void CheckSame(const std::vector<ShareOutcome>& ranks, const ShareOutcome& alone) {
  REQUIRE(alone.status.ok());
  for (const ShareOutcome& rank : ranks) {
    REQUIRE(rank.status.ok());
    CHECK(SameBytes(rank.state.parameters, alone.state.parameters));
    for (std::size_t epoch = 0; epoch < alone.epochs.size(); ++epoch) {
      CHECK(rank.epochs[epoch].loss == alone.epochs[epoch].loss);
      CHECK(rank.epochs[epoch].accuracy == alone.epochs[epoch].accuracy);
      CHECK(rank.epochs[epoch].rows_trained == alone.epochs[epoch].rows_trained);
    }
  }
  CHECK(SameStateBytes(ranks[0].collected, alone.collected));
}

const std::vector<Variant> kPipelineVariants = {
    {"momentum", [](MlpParameters*) {}},
    {"plain", [](MlpParameters* p) { p->momentum = 0; }},
    {"nesterov, decay, gelu",
     [](MlpParameters* p) { p->nesterov = true, p->weight_decay = 1e-3, p->activation = Activation::kGelu; }},
    {"adam, label smoothing",
     [](MlpParameters* p) {
       p->optimizer = OptimizerKind::kAdam, p->learning_rate = 0.003, p->label_smoothing = 0.1;
     }},
    {"adamw, clipped",
     [](MlpParameters* p) {
       p->optimizer = OptimizerKind::kAdamW, p->learning_rate = 0.003, p->weight_decay = 0.01;
       p->clip_norm = 0.3;
     }},
    {"lamb, clipped",
     [](MlpParameters* p) {
       p->optimizer = OptimizerKind::kLamb, p->learning_rate = 0.01, p->clip_norm = 0.3;
     }},
    {"dropout, tanh",
     [](MlpParameters* p) { p->dropout = 0.3, p->input_dropout = 0.1, p->activation = Activation::kTanh; }},
    {"bf16, dropout", [](MlpParameters* p) { p->precision = Precision::kBf16, p->dropout = 0.2; }},
    {"odd batches in bf16", [](MlpParameters* p) { p->batch_size = 101, p->precision = Precision::kBf16; }},
    {"3 micro-batches", [](MlpParameters* p) { p->micro_batches = 3; }},
    {"sifting", [](MlpParameters* p) { p->sift_beta = 0.5, p->sift_delay = 0.5; }},
    {"sifting, losses reused",
     [](MlpParameters* p) { p->sift_beta = 1, p->sift_delay = 0.5, p->sift_reuse_epochs = 2; }},
};

TEST_CASE("PipelineTrainer: 1 to 4 stages give the bits of ALL_REDUCE on one rank", "[mlp]") {
  for (const Variant& variant : kPipelineVariants) {
    ShareTask task = LayersTask();
    variant.change(&task.parameters);
    const ShareOutcome alone = Alone(task);
    for (const int ranks : {1, 2, 3, 4}) {
      CAPTURE(variant.name, ranks);
      CheckSame(Pipelined(task, ranks), alone);
    }
  }
}

TEST_CASE("PipelineTrainer: copies of the pipeline that share batches out do not change the bits", "[mlp]") {
  for (const Variant& variant : kPipelineVariants) {
    ShareTask task = LayersTask();
    variant.change(&task.parameters);
    const ShareOutcome alone = Alone(task);
    for (const auto& [ranks, stages] : {std::pair(4, 2), std::pair(6, 2), std::pair(6, 3), std::pair(3, 1)}) {
      CAPTURE(variant.name, ranks, stages);
      CheckSame(Pipelined(task, ranks, stages), alone);
    }
  }
}

TEST_CASE("PipelineTrainer: threads do not change the bits", "[mlp]") {
  ShareTask task = LayersTask();
  const ShareOutcome alone = Alone(task);
  task.threads = 2;
  CheckSame(Pipelined(task, 2), alone);
}

TEST_CASE("PipelineTrainer: rows with weights count as much as on one rank", "[mlp]") {
  ShareTask task = LayersTask();
  std::vector<float> weight;
  for (int64_t row = 0; row < task.train.rows; ++row) weight.push_back(static_cast<float>(row % 3));
  task.train.weight = weight;
  CheckSame(Pipelined(task, 4, 2), Alone(task));
}

TEST_CASE("PipelineTrainer: batches smaller than the micro-batches are many are no trouble", "[mlp]") {
  ShareTask task = LayersTask();
  task.parameters.virtual_shards = 12;
  task.parameters.batch_size = 133;  // a last one of 1 row
  CheckSame(Pipelined(task, 3), Alone(task));
  CheckSame(Pipelined(task, 4, 2), Alone(task));
}

TEST_CASE("PipelineTrainer: an epoch after a checkpoint is the epoch it would have been", "[mlp]") {
  ShareTask task = LayersTask();
  task.parameters.optimizer = OptimizerKind::kAdam;
  task.parameters.learning_rate = 0.003;
  const ShareOutcome straight = Alone(task), begun = Pipelined(task, 3, 0, 1)[0];
  task.parameters.distribution = Distribution::kPipeline;
  const std::vector<ShareOutcome> rest = TrainShares(task, 4, 1, 3, MakePipeline, &begun.collected);
  REQUIRE(rest[0].status.ok());
  CHECK(SameStateBytes(rest[0].collected, straight.collected));
}

// Activations go forward and as many deltas back over each border between stages; in an epoch's end each rank
// sends its piece of the parameters to all others.
TEST_CASE("PipelineTrainer: bytes are those of activations and deltas", "[mlp]") {
  ShareTask task = LayersTask();
  task.train = ClassesAround(6000, 12);
  task.parameters.hidden_layers = {40, 40, 40};
  const Network network = MakeNetwork(task.parameters, task.train.features, task.parameters.num_class);
  for (const int ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    const ShareOutcome outcome = Pipelined(task, ranks, ranks, 1)[0];
    REQUIRE(outcome.status.ok());
    const double activations = 2.0 * (ranks - 1) * 40 * sizeof(float) * static_cast<double>(task.train.rows);
    const double parameters = (ranks - 1.0) * static_cast<double>(network.parameters) * sizeof(float);
    CHECK(static_cast<double>(outcome.epochs[0].bytes_sent) ==
          Approx(activations + parameters).epsilon(0.05));
  }
}

// Two replicas of a stage send each other half of its counts, and half of its parameters back.
TEST_CASE("PipelineTrainer: copies send what a ring would", "[mlp]") {
  ShareTask task = LayersTask();
  task.train = ClassesAround(6000, 12);
  task.parameters.hidden_layers = {200, 20};
  const Network network = MakeNetwork(task.parameters, task.train.features, task.parameters.num_class);
  const ShareOutcome outcome = Pipelined(task, 4, 2, 1)[0];
  REQUIRE(outcome.status.ok());
  const double floats = static_cast<double>(network.parameters), rows = static_cast<double>(task.train.rows);
  const double sums = 2.0 * floats * static_cast<double>(outcome.epochs[0].steps);
  const auto expected = [&](double border) {
    return sizeof(float) * (2 * border * rows + sums + 3 * floats);
  };
  const double sent = static_cast<double>(outcome.epochs[0].bytes_sent);
  // The border is wherever the measured costs put it.
  CHECK((sent == Approx(expected(200)).epsilon(0.05) || sent == Approx(expected(20)).epsilon(0.05)));
}

TEST_CASE("PipelineTrainer: a rank has optimizer state of its own layers only", "[mlp]") {
  ShareTask task = LayersTask();
  task.parameters.optimizer = OptimizerKind::kAdam;
  const std::vector<ShareOutcome> ranks = Pipelined(task, 4, 0, 1);
  std::size_t slots = 0;
  for (const ShareOutcome& rank : ranks) slots += rank.state.slots[1].size();
  CHECK(slots == ranks[0].state.parameters.size());
  CHECK(ranks[0].state.slots[1].size() < slots);
}

TEST_CASE("PipelineTrainer: says which share of a step ranks wait", "[mlp]") {
  const EpochResult epoch = Pipelined(LayersTask(), 3, 0, 1)[0].epochs.at(0);
  REQUIRE(epoch.more.size() == 1);
  CHECK(epoch.more[0].first == "bubble-share");
  CHECK(epoch.more[0].second > 0);
  CHECK(epoch.more[0].second < 1);
}

TEST_CASE("PipelineTrainer: a loss that is not finite any more is said, on every rank", "[mlp]") {
  ShareTask task = LayersTask();
  task.parameters.learning_rate = 1e12;
  for (const ShareOutcome& rank : Pipelined(task, 3)) {
    CHECK(rank.status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(rank.status.message()), Catch::Contains("at epoch 0, step "));
  }
}

TEST_CASE("PipelineTrainer: all ranks stop when they have to", "[mlp]") {
  const std::atomic<bool> stop = true;
  ShareTask task = LayersTask();
  task.stop = &stop;
  for (const ShareOutcome& rank : Pipelined(task, 3))
    CHECK(rank.status.code() == absl::StatusCode::kCancelled);
}

TEST_CASE("PipelineTrainer: a rank that leaves ends all, which say who it was", "[mlp]") {
  ShareTask task = LayersTask();
  task.parameters.distribution = Distribution::kPipeline;
  const std::vector<ShareOutcome> ranks =
      TrainShares(task, 3, 0, 3, [](const TrainingContext& context, NetworkState state) {
        auto made = MakePipeline(context, std::move(state));
        if (context.ranks->rank() == 1) made = absl::InternalError("out of order");
        return made;
      });
  for (const int rank : {0, 2}) {
    CHECK(ranks[rank].status.code() == absl::StatusCode::kUnavailable);
    CHECK_THAT(std::string(ranks[rank].status.message()), Catch::Contains("rank 1"));
  }
}

TEST_CASE("PipelineTrainer: what cannot be divided is refused", "[mlp]") {
  const auto message = [](const std::function<void(ShareTask*)>& change, int ranks, int stages) {
    ShareTask task = LayersTask();
    change(&task);
    const absl::Status status = Pipelined(task, ranks, stages)[0].status;
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  CHECK_THAT(message([](ShareTask* task) { task->parameters.batch_norm = BatchNorm::kPerRank; }, 2, 0),
             Catch::Contains("batch_norm: expected none with distribution PIPELINE"));
  CHECK_THAT(message([](ShareTask*) {}, 3, 2), Catch::Contains("expected a divisor of the 3 ranks"));
  CHECK_THAT(message([](ShareTask* task) { task->parameters.hidden_layers = {8}; }, 4, 4),
             Catch::Contains("expected at most the network's 2 layers"));
  CHECK_THAT(message([](ShareTask* task) { task->parameters.micro_batches = 7; }, 4, 2),
             Catch::Contains("micro_batches = 7: expected at most 6"));
  CHECK_THAT(message([](ShareTask* task) { task->parameters.virtual_shards = 1; }, 4, 2),
             Catch::Contains("at most the 1 virtual shards"));
}

}  // namespace
}  // namespace winnow::mlp
