#include "trainers/mlp/parallel/synchronous_trainer.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/trainers/mlp/share_task.h"

namespace winnow::mlp {
namespace {

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeSynchronous(const TrainingContext& context,
                                                              NetworkState state) {
  return MakeSynchronousTrainer(context, std::move(state), "");
}

// A batch of 96 rows in 12 shards, 1,600 rows: the last batch is of 64.
ShareTask BatchTask() {
  ShareTask task;
  task.parameters.batch_size = 96;
  task.parameters.hidden_layers = {24, 16};
  task.parameters.momentum = 0.9;
  return task;
}

bool SameState(const NetworkState& a, const NetworkState& b) {
  return a.parameters == b.parameters && a.slots[0] == b.slots[0] && a.slots[1] == b.slots[1] &&
         a.statistics == b.statistics && a.step == b.step;
}

const std::vector<Variant> kSynchronousVariants = {
    {"momentum", [](MlpParameters*) {}},
    {"nesterov, decay", [](MlpParameters* p) { p->nesterov = true, p->weight_decay = 1e-3; }},
    {"adam", [](MlpParameters* p) { p->optimizer = OptimizerKind::kAdam, p->learning_rate = 0.003; }},
    {"adamw, cosine",
     [](MlpParameters* p) {
       p->optimizer = OptimizerKind::kAdamW, p->learning_rate = 0.003, p->weight_decay = 0.01;
       p->schedule = ScheduleKind::kCosine;
     }},
    {"lamb", [](MlpParameters* p) { p->optimizer = OptimizerKind::kLamb, p->learning_rate = 0.01; }},
    {"clipped", [](MlpParameters* p) { p->clip_norm = 0.5; }},
    {"dropout, tanh",
     [](MlpParameters* p) { p->dropout = 0.3, p->input_dropout = 0.1, p->activation = Activation::kTanh; }},
    {"batch norm, gelu",
     [](MlpParameters* p) { p->batch_norm = BatchNorm::kSynchronised, p->activation = Activation::kGelu; }},
    {"bf16", [](MlpParameters* p) { p->precision = Precision::kBf16; }},
    {"sifting", [](MlpParameters* p) { p->sift_beta = 0.5, p->sift_delay = 0.5; }},
    {"sifting, reuse",
     [](MlpParameters* p) { p->sift_beta = 1, p->sift_delay = 0.5, p->sift_reuse_epochs = 2; }},
    {"odd batches", [](MlpParameters* p) { p->batch_size = 101, p->precision = Precision::kBf16; }},
};

TEST_CASE("SynchronousTrainer: any number of ranks, whole or sharded state, gives the same bits", "[mlp]") {
  for (const Variant& variant : kSynchronousVariants) {
    ShareTask task = BatchTask();
    variant.change(&task.parameters);
    const std::vector<ShareOutcome> alone = TrainShares(task, 1, 0, 3, MakeSynchronous);
    REQUIRE(alone[0].status.ok());
    for (const Distribution distribution : {Distribution::kAllReduce, Distribution::kZero}) {
      task.parameters.distribution = distribution;
      for (const int ranks : {2, 3, 4}) {
        CAPTURE(variant.name, ranks, distribution == Distribution::kZero);
        const std::vector<ShareOutcome> outcomes = TrainShares(task, ranks, 0, 3, MakeSynchronous);
        for (const ShareOutcome& outcome : outcomes) {
          REQUIRE(outcome.status.ok());
          CHECK(outcome.state.parameters == alone[0].state.parameters);
          CHECK(outcome.epochs.back().loss == alone[0].epochs.back().loss);
          CHECK(outcome.epochs.back().accuracy == alone[0].epochs.back().accuracy);
        }
        CHECK(SameState(outcomes[0].collected, alone[0].collected));
      }
    }
  }
}

TEST_CASE("SynchronousTrainer: learns, and what it learns does not depend on threads", "[mlp]") {
  for (const Variant& variant : kSynchronousVariants) {
    ShareTask task = BatchTask();
    variant.change(&task.parameters);
    CAPTURE(variant.name);
    const std::vector<ShareOutcome> one = TrainShares(task, 1, 0, 4, MakeSynchronous);
    task.threads = 3;
    const std::vector<ShareOutcome> three = TrainShares(task, 1, 0, 4, MakeSynchronous);
    REQUIRE(one[0].status.ok());
    CHECK(one[0].state.parameters == three[0].state.parameters);
    CHECK(one[0].epochs.back().loss < one[0].epochs.front().loss);
    CHECK(one[0].epochs.back().accuracy > 0.7);
  }
}

TEST_CASE("SynchronousTrainer: an epoch after a checkpoint is the epoch it would have been", "[mlp]") {
  for (const Variant& variant : kSynchronousVariants) {
    ShareTask task = BatchTask();
    variant.change(&task.parameters);
    CAPTURE(variant.name);
    const std::vector<ShareOutcome> straight = TrainShares(task, 1, 0, 3, MakeSynchronous),
                                    half = TrainShares(task, 2, 0, 1, MakeSynchronous);
    const std::string extra = half[0].extra;
    const auto resume = [&](const TrainingContext& context, NetworkState state) {
      return MakeSynchronousTrainer(context, std::move(state), extra);
    };
    const std::vector<ShareOutcome> rest = TrainShares(task, 3, 1, 3, resume, &half[0].collected);
    REQUIRE(rest[0].status.ok());
    CHECK(SameState(rest[0].collected, straight[0].collected));
  }
}

TEST_CASE("SynchronousTrainer: ranks with batch norm of their own go on from the mean of its statistics",
          "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.batch_norm = BatchNorm::kPerRank;
  const std::vector<ShareOutcome> ranks = TrainShares(task, 3, 0, 3, MakeSynchronous),
                                  half = TrainShares(task, 3, 0, 1, MakeSynchronous);
  REQUIRE(ranks[0].status.ok());
  for (const ShareOutcome& rank : ranks) CHECK(rank.state.statistics == ranks[0].state.statistics);
  const std::vector<ShareOutcome> rest = TrainShares(task, 3, 1, 3, MakeSynchronous, &half[0].collected);
  REQUIRE(rest[0].status.ok());
  CHECK(SameState(rest[0].collected, ranks[0].collected));
}

TEST_CASE("SynchronousTrainer: a last batch of one row leaves the running statistics as they are", "[mlp]") {
  ShareTask task;
  task.train = ClassesAround(1601, 12);  // 80 batches of 20, and a row
  for (const BatchNorm batch_norm : {BatchNorm::kSynchronised, BatchNorm::kPerRank}) {
    task.parameters.batch_norm = batch_norm;
    task.parameters.batch_norm_momentum = 1;
    for (const int ranks : {1, 2}) {
      CAPTURE(static_cast<int>(batch_norm), ranks);
      const ShareOutcome outcome = TrainShares(task, ranks, 0, 1, MakeSynchronous)[0];
      REQUIRE(outcome.status.ok());
      const Layer layer = MakeNetwork(task.parameters, 12, 4).layers[0];
      const float* const variance =
          outcome.state.statistics.data() + layer.statistics + static_cast<std::size_t>(layer.padded());
      CHECK(std::all_of(variance, variance + layer.outputs, [](float v) { return v > 0.01f; }));
    }
  }
}

TEST_CASE("SynchronousTrainer: the learning rate's schedule goes by rows seen, those sifted out too",
          "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.momentum = 0;
  task.parameters.sift_beta = 3;
  task.parameters.sift_delay = 0;
  task.parameters.schedule = ScheduleKind::kStep;
  task.parameters.step_epochs = 1;
  task.parameters.step_factor = 1e-30;  // no step after the first epoch moves anything
  const NetworkState first = TrainShares(task, 1, 0, 1, MakeSynchronous)[0].state,
                     third = TrainShares(task, 1, 0, 3, MakeSynchronous)[0].state;
  CHECK(third.step > first.step);
  CHECK(third.parameters == first.parameters);
}

TEST_CASE("SynchronousTrainer: bytes per step are a ring's", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.hidden_layers = {256, 128};
  const Network network = MakeNetwork(task.parameters, task.train.features, task.parameters.num_class);
  for (const Distribution distribution : {Distribution::kAllReduce, Distribution::kZero}) {
    task.parameters.distribution = distribution;
    for (const int ranks : {2, 3, 4}) {
      CAPTURE(ranks);
      const EpochResult epoch = TrainShares(task, ranks, 0, 1, MakeSynchronous)[0].epochs[0];
      const double ring = 2.0 * (ranks - 1) * static_cast<double>(network.parameters) * sizeof(float);
      CHECK(static_cast<double>(epoch.bytes_sent) / static_cast<double>(epoch.steps) ==
            Approx(ring).epsilon(0.05));
    }
  }
}

TEST_CASE("SynchronousTrainer: ZERO shares the optimizer's state out", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.optimizer = OptimizerKind::kAdam;
  const std::vector<ShareOutcome> whole = TrainShares(task, 4, 0, 1, MakeSynchronous);
  task.parameters.distribution = Distribution::kZero;
  const std::vector<ShareOutcome> pieces = TrainShares(task, 4, 0, 1, MakeSynchronous);
  for (int rank = 0; rank < 4; ++rank) CHECK(pieces[rank].state_bytes < whole[rank].state_bytes);
}

TEST_CASE("SynchronousTrainer: a loss that is not finite any more is said, on every rank", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.learning_rate = 1e12;
  for (const ShareOutcome& outcome : TrainShares(task, 2, 0, 3, MakeSynchronous)) {
    CHECK(outcome.status.code() == absl::StatusCode::kFailedPrecondition);
    CHECK_THAT(std::string(outcome.status.message()),
               Catch::Contains("loss is nan at epoch 0, step ") && Catch::Contains("learning_rate = 1"));
  }
}

TEST_CASE("SynchronousTrainer: when one rank has to stop, all stop", "[mlp]") {
  ShareTask task = BatchTask();
  const std::atomic<bool> stop{true};
  task.stop = &stop;
  for (const ShareOutcome& outcome : TrainShares(task, 3, 0, 1, MakeSynchronous))
    CHECK(outcome.status.code() == absl::StatusCode::kCancelled);
}

TEST_CASE("SynchronousTrainer: what cannot be divided is refused", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.virtual_shards = 2;
  CHECK_THAT(std::string(TrainShares(task, 3, 0, 1, MakeSynchronous)[0].status.message()),
             Catch::Contains("3 ranks: expected at most the 2 virtual shards"));
  task = BatchTask();
  task.parameters.batch_size = 800;
  task.parameters.batch_scaling = BatchScaling::kLinear;
  CHECK_THAT(std::string(TrainShares(task, 3, 0, 1, MakeSynchronous)[0].status.message()),
             Catch::Contains("batch_size = 800 on 3 ranks: expected at most the 1600 rows"));
}

TEST_CASE(
    "SynchronousTrainer: the accuracy counts a row by its weight, with the same bits on any number of ranks",
    "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.learning_rate = 1e-9;
  const auto accuracy_on = [&](int ranks) {
    const ShareOutcome outcome = TrainShares(task, ranks, 0, 1, MakeSynchronous)[0];
    return outcome.status.ok() ? outcome.epochs[0].accuracy : -1;
  };
  const double unweighted = accuracy_on(1);
  std::vector<float> first_class, values, label, weight;
  for (int64_t row = 0; row < task.train.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    first_class.push_back(task.train.label[at] == 0 ? 1.0f : 0.0f);
    weight.push_back(0.1f * static_cast<float>(1 + row % 7) + first_class.back());
    if (first_class.back() == 0) continue;
    label.push_back(0);
    for (std::size_t f = 0; f < 12; ++f) values.push_back(task.train.values[at * 12 + f]);
  }
  task.train.weight = first_class;
  const double of_first_class = accuracy_on(1);
  task.train.weight = weight;
  for (const int ranks : {2, 3, 4}) CHECK(accuracy_on(ranks) == accuracy_on(1));
  task.train = MakeDenseData(12, std::move(values), std::move(label));
  CHECK(of_first_class == accuracy_on(1));
  CHECK(std::fabs(of_first_class - unweighted) > 0.01);
}

TEST_CASE("SynchronousTrainer: what compression has left out is kept as bytes, and was as numbers", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.compression = Compression::kInt8;
  task.parameters.sift_beta = 0.5;
  task.parameters.sift_delay = 0.5;
  const ShareOutcome half = TrainShares(task, 2, 0, 1, MakeSynchronous)[0],
                     straight = TrainShares(task, 2, 0, 2, MakeSynchronous)[0];
  REQUIRE(straight.status.ok());
  const auto resume = [&](const std::string& extra) {
    return TrainShares(
        task, 2, 1, 2,
        [&](const TrainingContext& context, NetworkState state) {
          return MakeSynchronousTrainer(context, std::move(state), extra);
        },
        &half.collected)[0];
  };
  CHECK(SameState(resume(half.extra).collected, straight.collected));

  const std::size_t begin = std::string("errors\n").size() + sizeof(uint64_t);
  const std::size_t errors = 2 * sizeof(uint64_t) + 2 * half.collected.parameters.size() * sizeof(float);
  REQUIRE(half.extra.size() > begin + errors);
  nlohmann::json before = nlohmann::json::parse(half.extra.substr(begin + errors));
  before["errors"] = std::vector<uint8_t>(half.extra.begin() + begin, half.extra.begin() + begin + errors);
  CHECK(SameState(resume(before.dump()).collected, straight.collected));
  CHECK(absl::IsDataLoss(resume(half.extra.substr(0, begin + errors - 1)).status));
}

TEST_CASE("SynchronousTrainer: compressed gradients learn as well, and send less", "[mlp]") {
  ShareTask task = BatchTask();
  task.parameters.hidden_layers = {256, 128};
  const EpochResult plain = TrainShares(task, 2, 0, 4, MakeSynchronous)[0].epochs.back();
  for (const Compression compression : {Compression::kBf16, Compression::kInt8}) {
    task.parameters.compression = compression;
    const std::vector<ShareOutcome> outcomes = TrainShares(task, 2, 0, 4, MakeSynchronous);
    REQUIRE(outcomes[0].status.ok());
    CHECK(outcomes[0].state.parameters == outcomes[1].state.parameters);
    CHECK(outcomes[0].epochs.back().accuracy > plain.accuracy - 0.03);
    const double share = compression == Compression::kBf16 ? 0.5 : 0.25;
    CHECK(static_cast<double>(outcomes[0].epochs.back().bytes_sent) / static_cast<double>(plain.bytes_sent) ==
          Approx(share).epsilon(0.05));
  }
}

}  // namespace
}  // namespace winnow::mlp
