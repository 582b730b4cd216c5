#include "trainers/mlp/parallel/synchronous_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "trainers/common/exact_sum.h"
#include "trainers/data/cache/byte_codec.h"
#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/parallel/sifter.h"
#include "trainers/mlp/parallel/synchronous_step.h"

namespace winnow::mlp {
namespace {

// Before the errors that compression keeps, which are as long as all ranks' parameters: their bytes with
// their length, then the rest as JSON. Without errors there is the JSON alone.
constexpr std::string_view kErrorsFirst = "errors\n";

// What EpochTrainer::Collect has kept beside the state; each may be empty.
struct SplitExtra {
  std::string errors, sifter;
};

absl::StatusOr<SplitExtra> SplitExtraOf(std::string_view extra) {
  const absl::Status damaged = absl::DataLossError("the checkpoint's state of training is damaged");
  SplitExtra parts;
  if (extra.starts_with(kErrorsFirst)) {
    ByteReader reader(extra.substr(kErrorsFirst.size()));
    parts.errors = reader.Text();
    if (!reader.ok()) return damaged;
    extra = reader.rest();
    if (extra.empty()) return parts;
  }
  const nlohmann::json json = nlohmann::json::parse(extra, nullptr, false);
  if (!json.is_object()) return damaged;
  try {
    parts.sifter = json.value("sifter", std::string());
    if (json.contains("errors")) {  // of earlier versions: a list of the bytes as numbers
      const auto bytes = json["errors"].get<std::vector<uint8_t>>();
      parts.errors.assign(bytes.begin(), bytes.end());
    }
  } catch (const nlohmann::json::exception&) {
    return damaged;
  }
  return parts;
}

class SynchronousTrainer : public EpochTrainer {
 public:
  SynchronousTrainer(const TrainingContext& context, const BatchCut& cut, std::unique_ptr<TrainingStep> step)
      : context_(context), batch_rows_(cut.rows), step_(std::move(step)) {
    if (context.parameters.sift_beta > 0) sifter_.emplace(context.parameters, context.train.rows);
  }

  absl::Status Restore(const std::string& extra);

  absl::StatusOr<EpochResult> Train(int64_t epoch) override;
  const NetworkState& state() const override { return step_->state(); }
  absl::Status Collect(NetworkState* state, std::string* extra) override;
  void Fail(const absl::Status& reason) override { step_->Fail(reason); }
  uint64_t state_bytes() const override { return step_->state_bytes(); }

 private:
  absl::Status TrainOn(std::span<const int64_t> rows);
  absl::Status Sift(std::span<const int64_t> rows);
  absl::Status Sum(EpochResult* result) const;

  const TrainingContext& context_;
  const int64_t batch_rows_;
  const std::unique_ptr<TrainingStep> step_;
  std::optional<Sifter> sifter_;
  int64_t epoch_ = 0;
  // For the epoch so far.
  ShardSums sums_;
  int64_t steps_ = 0, rows_seen_ = 0, rows_trained_ = 0;
};

absl::Status SynchronousTrainer::Restore(const std::string& extra) {
  if (extra.empty()) return absl::OkStatus();
  absl::StatusOr<SplitExtra> parts = SplitExtraOf(extra);
  if (!parts.ok()) return parts.status();
  if (sifter_) {
    if (absl::Status status = sifter_->Restore(parts->sifter); !status.ok()) return status;
  }
  return parts->errors.empty() ? absl::OkStatus() : step_->RestoreErrors(parts->errors);
}

absl::Status SynchronousTrainer::Collect(NetworkState* state, std::string* extra) {
  std::string errors;
  if (absl::Status status = step_->Collect(state, &errors); !status.ok()) return status;
  nlohmann::json json = nlohmann::json::object();
  if (sifter_) json["sifter"] = sifter_->Serialise();
  const std::string rest = json.empty() ? "" : json.dump();
  extra->clear();
  if (!errors.empty()) {
    ByteWriter length;
    length.Number(errors.size());
    extra->reserve(kErrorsFirst.size() + length.bytes().size() + errors.size() + rest.size());
    extra->append(kErrorsFirst).append(length.bytes()).append(errors);
  }
  extra->append(rest);
  return absl::OkStatus();
}

absl::Status SynchronousTrainer::TrainOn(std::span<const int64_t> rows) {
  if (absl::Status status = step_->Train(rows, epoch_, rows_seen_ / batch_rows_, &sums_); !status.ok())
    return status;
  ++steps_;
  rows_trained_ += static_cast<int64_t>(rows.size());
  return absl::OkStatus();
}

// Runs a forward pass for candidates without a recent loss; those that are kept wait for a full batch.
absl::Status SynchronousTrainer::Sift(std::span<const int64_t> rows) {
  std::vector<int64_t> unknown;
  std::vector<float> losses(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::optional<float> known = sifter_->Known(rows[r]);
    if (known)
      losses[r] = *known;
    else
      unknown.push_back(rows[r]);
  }
  if (!unknown.empty()) {
    const absl::StatusOr<std::vector<float>> computed = step_->Losses(unknown);
    if (!computed.ok()) return computed.status();
    std::size_t next = 0;
    for (std::size_t r = 0; r < rows.size() && next < unknown.size(); ++r) {
      if (rows[r] == unknown[next]) losses[r] = (*computed)[next++];
    }
  }
  sifter_->Offer(rows, losses);
  std::vector<int64_t> batch;
  while (sifter_->TakeBatch(batch_rows_, &batch)) {
    if (absl::Status status = TrainOn(batch); !status.ok()) return status;
    if (context_.parameters.sift_reuse_epochs == 0) continue;
    const absl::StatusOr<std::vector<float>> trained = step_->LastLosses();
    if (!trained.ok()) return trained.status();
    sifter_->Remember(batch, *trained);
  }
  return absl::OkStatus();
}

// result->bytes_sent has this rank's bytes already.
absl::Status SynchronousTrainer::Sum(EpochResult* result) const {
  Communicator* const ranks = context_.ranks;
  const absl::StatusOr<std::vector<double>> exact =
      ExactSums({sums_.losses, sums_.weights, sums_.right}, ranks);
  if (!exact.ok()) return exact.status();
  if (absl::Status status = ranks->AllReduceSum({&result->bytes_sent, 1}); !status.ok()) return status;
  result->loss = (*exact)[0] / (*exact)[1];
  const LossKind loss = context_.parameters.loss;
  const bool classes = loss == LossKind::kCrossEntropy || loss == LossKind::kLogistic;
  result->accuracy = classes ? (*exact)[2] / (*exact)[1] : std::nan("");
  result->rows_seen = rows_seen_;
  result->rows_trained = rows_trained_;
  result->steps = steps_;
  if (sifter_) result->more.emplace_back("kept-share", static_cast<double>(rows_trained_) / rows_seen_);
  return absl::OkStatus();
}

absl::StatusOr<EpochResult> SynchronousTrainer::Train(int64_t epoch) {
  epoch_ = epoch;
  sums_ = {};
  steps_ = rows_seen_ = rows_trained_ = 0;
  const uint64_t sent_before = step_->bytes_sent();
  const std::vector<int64_t> order = EpochOrder(context_.parameters.seed, epoch, context_.train.rows);
  if (sifter_) sifter_->BeginEpoch(epoch);
  for (int64_t at = 0; at < context_.train.rows; at += batch_rows_) {
    const std::span<const int64_t> rows(
        order.data() + at, static_cast<std::size_t>(std::min(batch_rows_, context_.train.rows - at)));
    const bool sifts = sifter_ && sifter_->active();
    if (absl::Status status = sifts ? Sift(rows) : TrainOn(rows); !status.ok()) return status;
    rows_seen_ += static_cast<int64_t>(rows.size());
    if (!sifter_ || sifts) continue;
    const absl::StatusOr<std::vector<float>> losses = step_->LastLosses();
    if (!losses.ok()) return losses.status();
    sifter_->Observe(rows, *losses);
  }
  if (rows_trained_ == 0)
    return absl::FailedPreconditionError(fmt::format(
        "sifting kept no whole batch of {} rows in epoch {}: expected a smaller sift_beta than {}, "
        "or a smaller batch_size",
        batch_rows_, epoch, context_.parameters.sift_beta));
  EpochResult result;
  if (absl::Status status = step_->EndEpoch(&result); !status.ok()) return status;
  result.bytes_sent = step_->bytes_sent() - sent_before;
  if (absl::Status status = Sum(&result); !status.ok()) return status;
  return result;
}

}  // namespace

absl::StatusOr<BatchCut> CutOfBatches(const TrainingContext& context, int takers) {
  const MlpParameters& parameters = context.parameters;
  const int ranks = context.ranks->size();
  BatchCut cut;
  cut.rows = parameters.batch_size * (parameters.batch_scaling == BatchScaling::kLinear ? ranks : 1);
  if (cut.rows > context.train.rows)
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter batch_size = {}{}: expected at most the {} rows of the training data",
        parameters.batch_size, cut.rows > parameters.batch_size ? fmt::format(" on {} ranks", ranks) : "",
        context.train.rows));
  cut.shards = parameters.virtual_shards > 0 ? parameters.virtual_shards : DefaultVirtualShards(cut.rows);
  if (takers > cut.shards)
    return absl::InvalidArgumentError(
        fmt::format("{} ranks: expected at most the {} virtual shards that a batch of {} rows is cut into "
                    "(hyperparameter "
                    "virtual_shards)",
                    takers, cut.shards, cut.rows));
  return cut;
}

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeTrainerOf(const TrainingContext& context,
                                                            const BatchCut& cut,
                                                            std::unique_ptr<TrainingStep> step,
                                                            const std::string& extra) {
  auto trainer = std::make_unique<SynchronousTrainer>(context, cut, std::move(step));
  if (absl::Status status = trainer->Restore(extra); !status.ok()) return status;
  return trainer;
}

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeSynchronousTrainer(const TrainingContext& context,
                                                                     NetworkState state,
                                                                     const std::string& extra) {
  const absl::StatusOr<BatchCut> cut = CutOfBatches(context, context.ranks->size());
  if (!cut.ok()) return cut.status();
  const absl::StatusOr<const Kernels*> kernels = AgreedKernels(context.parameters.precision, context.ranks);
  if (!kernels.ok()) return kernels.status();
  return MakeTrainerOf(context, *cut,
                       std::make_unique<SynchronousStep>(context, std::move(state), **kernels, *cut), extra);
}

}  // namespace winnow::mlp
