#include "trainers/mlp/parallel/pipeline_step.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "trainers/mlp/network/batch_order.h"
#include "trainers/mlp/network/evaluator.h"

namespace winnow::mlp {
namespace {

// Returns for each rank the start of its piece of the flat array. A stage's replicas have pieces of its
// layers as nearly equal as runs allow.
std::vector<std::size_t> PiecesOf(const Network& network, const PipelineLayout& layout,
                                  const std::vector<ParameterRun>& runs) {
  std::vector<std::size_t> pieces;
  auto run = runs.begin();
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const std::size_t begin = network.layers[layout.layer_begins[stage]].begin(),
                      end = network.layers[layout.layer_begins[stage + 1] - 1].end;
    for (int replica = 0; replica < layout.replicas; ++replica) {
      const std::size_t from = begin + (end - begin) * static_cast<std::size_t>(replica) /
                                           static_cast<std::size_t>(layout.replicas);
      while (run != runs.end() && run->begin < from) ++run;
      pieces.push_back(run == runs.end() ? end : std::min(run->begin, end));
    }
  }
  pieces.push_back(network.parameters);
  return pieces;
}

// Returns rows enough for the largest part of a batch, for any division of a smaller batch.
int64_t MostRows(const BatchCut& cut, int replicas) {
  int64_t most = 0;
  for (int replica = 0; replica < replicas; ++replica) {
    const Part shards = ShardsOf(cut.shards, replica, replicas);
    most = std::max(most, ShardBegin(cut.rows, cut.shards, static_cast<int>(shards.end)) -
                              ShardBegin(cut.rows, cut.shards, static_cast<int>(shards.begin)));
  }
  constexpr int64_t kMoreRows = 4;  // both ends move by a pair of rows, and the last shard has an odd one
  return std::min(most + kMoreRows, cut.rows);
}

}  // namespace

std::vector<StagePass> OneForwardOneBackward(int stage, int stages, int micro_batches) {
  std::vector<StagePass> passes;
  const int ahead = std::min(stages - 1 - stage, micro_batches);
  for (int forward = 0; forward < ahead; ++forward) passes.push_back({true, forward});
  for (int backward = 0; backward < micro_batches; ++backward) {
    if (backward + ahead < micro_batches) passes.push_back({true, backward + ahead});
    passes.push_back({false, backward});
  }
  return passes;
}

class PipelineStep::Wait {
 public:
  explicit Wait(PipelineStep* step)
      : step_(step), scope_(step->context_.profile, Phase::kCommunicate, step->state_.step) {}
  ~Wait() { step_->waited_ += Clock::now() - begun_; }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

 private:
  PipelineStep* const step_;
  const ProfileScope scope_;
  const Clock::time_point begun_ = Clock::now();
};

PipelineStep::PipelineStep(const TrainingContext& context, NetworkState state, const Kernels& kernels,
                           const BatchCut& cut, PipelineLayout layout, std::unique_ptr<Messenger> messenger)
    : context_(context),
      network_(context.network),
      ranks_(*context.ranks),
      layout_(std::move(layout)),
      shards_(cut.shards),
      epoch_steps_(StepsOf(context.train.rows, cut.rows)),
      stage_(ranks_.rank() / layout_.replicas),
      replica_(ranks_.rank() % layout_.replicas),
      messenger_(std::move(messenger)),
      state_(std::move(state)),
      update_(context.network, context.parameters, context.ranks, context.crew),
      pieces_(PiecesOf(context.network, layout_, update_.runs())),
      replicas_(messenger_.get(), stage_ * layout_.replicas, replica_,
                std::vector<std::size_t>(pieces_.begin() + stage_ * layout_.replicas,
                                         pieces_.begin() + (stage_ + 1) * layout_.replicas + 1)),
      work_(context, kernels, MostRows(cut, layout_.replicas), layout_.layer_begins[stage_],
            layout_.layer_begins[stage_ + 1]),
      counts_(network_.layers[work_.stack().last() - 1].end - network_.layers[work_.stack().first()].begin()),
      gradient_(replicas_.end() - replicas_.begin()) {
  for (std::vector<float>& slot : state_.slots) {
    if (slot.empty()) continue;
    slot = std::vector<float>(slot.data() + replicas_.begin(), slot.data() + replicas_.end());
  }
  work_.RefreshAll(state_.parameters.data());
}

int PipelineStep::MicroBatches(const LocalBatch& batch) const {
  return layout_.micro_batches > 0 ? layout_.micro_batches : static_cast<int>(batch.begins.size()) - 1;
}

Part PipelineStep::RowsOf(const LocalBatch& batch, int micro_batch) const {
  const Part shards = PartOf(static_cast<int64_t>(batch.begins.size()) - 1, micro_batch, MicroBatches(batch));
  return {batch.begins[static_cast<std::size_t>(shards.begin)],
          batch.begins[static_cast<std::size_t>(shards.end)]};
}

absl::Status PipelineStep::SendRows(int to, StageTag tag, const Matrix& matrix, const Part& rows) {
  const std::size_t width = static_cast<std::size_t>(matrix.width);
  rows_.resize(static_cast<std::size_t>(rows.end - rows.begin) * width);
  float* next = rows_.data();
  for (int64_t r = rows.begin; r < rows.end; ++r) next = std::copy_n(matrix.row(r), width, next);
  return messenger_->Send(to, static_cast<uint32_t>(tag), std::as_bytes(std::span<const float>(rows_)));
}

absl::Status PipelineStep::ReceiveRows(int from, StageTag tag, const Part& rows, Matrix* matrix) {
  const std::size_t bytes = static_cast<std::size_t>(matrix->width) * sizeof(float);
  const absl::StatusOr<Message> message = [&] {
    const Wait wait(this);
    return ReceiveOf(messenger_.get(), from, tag, static_cast<std::size_t>(rows.end - rows.begin) * bytes);
  }();
  if (!message.ok()) return message.status();
  const char* next = message->bytes.data();
  for (int64_t r = rows.begin; r < rows.end; ++r, next += bytes) std::memcpy(matrix->row(r), next, bytes);
  return absl::OkStatus();
}

absl::Status PipelineStep::ForwardPass(const LocalBatch& batch, const Part& rows) {
  if (rows.begin == rows.end) return absl::OkStatus();
  LayerStack& stack = work_.stack();
  if (!is_first()) {
    if (absl::Status status = ReceiveRows(ranks_.rank() - layout_.replicas, StageTag::kActivations, rows,
                                          &stack.inputs(stack.first()));
        !status.ok())
      return status;
  }
  work_.Forward(state_.parameters.data(), batch, rows.begin, rows.end);
  if (is_last()) return absl::OkStatus();
  return SendRows(ranks_.rank() + layout_.replicas, StageTag::kActivations, stack.outputs(), rows);
}

absl::Status PipelineStep::BackwardPass(const LocalBatch& batch, const Part& rows) {
  if (rows.begin == rows.end) return absl::OkStatus();
  LayerStack& stack = work_.stack();
  if (!is_last()) {
    if (absl::Status status = ReceiveRows(ranks_.rank() + layout_.replicas, StageTag::kDeltas, rows,
                                          &stack.delta(stack.last() - 1));
        !status.ok())
      return status;
  }
  work_.Backward(batch, rows.begin, rows.end);
  if (is_first()) return absl::OkStatus();
  return SendRows(ranks_.rank() - layout_.replicas, StageTag::kDeltas, stack.input_delta(), rows);
}

std::span<int32_t> PipelineStep::CountsOf(int l) {
  const Layer& layer = network_.layers[l];
  const std::size_t begin = layer.begin() - network_.layers[work_.stack().first()].begin();
  return std::span(counts_).subspan(begin, layer.end - layer.begin());
}

void PipelineStep::CountLayer(int l, const LocalBatch& batch) {
  ProfileScope scope(context_.profile, Phase::kBackward, state_.step);
  const Layer& layer = network_.layers[l];
  int32_t* const counts = CountsOf(l).data();
  const auto tasks = std::ranges::equal_range(work_.stack().tasks(), l, {}, &GradientTask::layer);
  work_.WeightCounts(std::span(tasks.begin(), tasks.end()), batch, layer.begin(), counts);
  work_.OtherCounts(l, batch, counts + (layer.bias - layer.begin()));
}

absl::Status PipelineStep::AddLayer(int l) {
  const Wait wait(this);
  return replicas_.AddCounts(CountsOf(l), network_.layers[l].begin());
}

// Sends a layer's counts while the next's are computed. At most two layers' are in transfer, so that no rank
// waits for room.
absl::Status PipelineStep::SumCounts(const LocalBatch& batch) {
  const int first = work_.stack().first(), last = work_.stack().last();
  for (int l = last - 1; l >= first; --l) {
    CountLayer(l, batch);
    if (layout_.replicas == 1) continue;
    if (l + 1 < last) {
      if (absl::Status status = AddLayer(l + 1); !status.ok()) return status;
    }
    if (absl::Status status = replicas_.SendCounts(CountsOf(l), network_.layers[l].begin()); !status.ok())
      return status;
  }
  return layout_.replicas == 1 ? absl::OkStatus() : AddLayer(first);
}

// Updates the own piece by its counts; then gathers the stage's layers from all replicas.
absl::Status PipelineStep::Move(const StepRule& rule) {
  const std::size_t begin = replicas_.begin(), end = replicas_.end();
  {
    ProfileScope scope(context_.profile, Phase::kUpdate, state_.step);
    for (int l = work_.stack().first(); l < work_.stack().last(); ++l) {
      const Layer& layer = network_.layers[l];
      const std::size_t from = std::max(begin, layer.begin()), to = std::min(end, layer.end);
      if (from < to)
        work_.Decode(from, to, CountsOf(l).data() + (from - layer.begin()),
                     gradient_.data() + (from - begin));
    }
    float* const slots[2] = {state_.slots[0].empty() ? nullptr : state_.slots[0].data(),
                             state_.slots[1].empty() ? nullptr : state_.slots[1].data()};
    if (absl::Status status = update_.Apply(rule, begin, end, /*partial=*/true, gradient_.data(),
                                            state_.parameters.data(), slots);
        !status.ok())
      return status;
  }
  if (context_.profile != nullptr && context_.parameters.clip_norm > 0)
    context_.profile->AddValue("gradient_norm", state_.step, update_.gradient_norm());
  {
    const Wait wait(this);
    if (absl::Status status = replicas_.ShareParameters(state_.parameters.data()); !status.ok())
      return status;
  }
  ProfileScope scope(context_.profile, Phase::kUpdate, state_.step);
  work_.RefreshAll(state_.parameters.data());
  return absl::OkStatus();
}

absl::Status PipelineStep::TrainStep(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                                     ShardSums* sums) {
  const LocalBatch batch = MakeBatch(rows);
  work_.Begin(state_.parameters.data(), batch);
  for (const StagePass& pass : OneForwardOneBackward(stage_, layout_.stages(), MicroBatches(batch))) {
    const Part part = RowsOf(batch, pass.micro_batch);
    if (absl::Status status = pass.forward ? ForwardPass(batch, part) : BackwardPass(batch, part);
        !status.ok())
      return status;
  }
  work_.Finish();
  bounds_.assign(work_.bounds().begin(), work_.bounds().end());
  {
    const Wait wait(this);
    if (absl::Status status = AgreeOnBounds(context_, epoch, epoch_step, bounds_); !status.ok())
      return status;
  }
  if (is_last()) work_.AddSums(batch, sums);
  {
    ProfileScope scope(context_.profile, Phase::kBackward, state_.step);
    work_.Quantise(bounds_, batch);
  }
  if (absl::Status status = SumCounts(batch); !status.ok()) return status;
  const StepRule rule = RuleAt(context_.parameters, state_.step, epoch * epoch_steps_ + epoch_step,
                               epoch_steps_, ranks_.size());
  if (absl::Status status = Move(rule); !status.ok()) return status;
  ++state_.step;
  return absl::OkStatus();
}

// Passes errors between the messages of a rank and its group. All ranks already know of a loss that is not
// finite, and of a stop.
absl::Status PipelineStep::Ended(absl::Status status) {
  if (status.ok() || absl::IsFailedPrecondition(status) || absl::IsCancelled(status)) return status;
  messenger_->Fail(status);
  ranks_.Fail(status);
  return status;
}

absl::Status PipelineStep::Train(std::span<const int64_t> rows, int64_t epoch, int64_t epoch_step,
                                 ShardSums* sums) {
  const Clock::time_point begun = Clock::now();
  absl::Status status = TrainStep(rows, epoch, epoch_step, sums);
  worked_ += Clock::now() - begun;
  return Ended(std::move(status));
}

absl::Status PipelineStep::EndEpoch(EpochResult* result) {
  std::vector<std::size_t> begins;
  for (const std::size_t piece : pieces_) begins.push_back(piece * sizeof(float));
  if (absl::Status status =
          ranks_.AllGatherInPlace(std::as_writable_bytes(std::span(state_.parameters)), begins);
      !status.ok())
    return Ended(std::move(status));
  const auto nanoseconds = [](Clock::duration duration) {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
  };
  uint64_t words[] = {nanoseconds(waited_), nanoseconds(worked_)};
  if (absl::Status status = ranks_.AllReduceSum(words); !status.ok()) return Ended(std::move(status));
  result->more.emplace_back(
      "bubble-share", static_cast<double>(words[0]) / static_cast<double>(std::max<uint64_t>(words[1], 1)));
  waited_ = worked_ = Clock::duration{0};
  return absl::OkStatus();
}

absl::StatusOr<std::vector<float>> PipelineStep::LastLosses() {
  return GatherFloats(is_last() ? work_.losses() : std::span<const float>(), &ranks_);
}

absl::StatusOr<std::vector<float>> PipelineStep::Losses(std::span<const int64_t> rows) {
  LocalBatch batch = MakeBatch(rows);
  batch.pass.training = false;
  const Clock::time_point begun = Clock::now();
  work_.Begin(state_.parameters.data(), batch);
  for (int m = 0; m < MicroBatches(batch); ++m) {
    if (absl::Status status = ForwardPass(batch, RowsOf(batch, m)); !status.ok())
      return Ended(std::move(status));
  }
  worked_ += Clock::now() - begun;
  return LastLosses();
}

absl::Status PipelineStep::Collect(NetworkState* state, std::string* errors) {
  errors->clear();
  *state = state_;
  return GatherSlots(state, &ranks_);
}

uint64_t PipelineStep::state_bytes() const {
  const std::size_t floats = state_.parameters.size() + state_.slots[0].size() + state_.slots[1].size() +
                             gradient_.size() + counts_.size();
  return floats * sizeof(float);
}

}  // namespace winnow::mlp
