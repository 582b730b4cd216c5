#include "trainers/mlp/parallel/pipeline_trainer.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/parallel/pipeline_step.h"
#include "trainers/mlp/parallel/stage_split.h"
#include "trainers/mlp/parallel/synchronous_trainer.h"

namespace winnow::mlp {
namespace {

// Returns the ranks of one copy of the network.
absl::StatusOr<int> StagesOf(const TrainingContext& context) {
  const int ranks = context.ranks->size(), layers = static_cast<int>(context.network.layers.size());
  const int asked = context.parameters.pipeline_stages;
  if (ranks == 1) return 1;
  if (asked == 0) {
    int stages = std::min(ranks, layers);
    while (ranks % stages != 0) --stages;
    return stages;
  }
  if (ranks % asked != 0)
    return absl::InvalidArgumentError(
        fmt::format("hyperparameter pipeline_stages = {}: expected a divisor of the {} ranks", asked, ranks));
  if (asked > layers)
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter pipeline_stages = {}: expected at most the network's {} layers", asked, layers));
  return asked;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakePipelineTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& extra) {
  const MlpParameters& parameters = context.parameters;
  if (parameters.batch_norm != BatchNorm::kNone)
    return absl::InvalidArgumentError(
        "hyperparameter batch_norm: expected none with distribution PIPELINE, where no layer sees all rows "
        "of a batch at once");
  const absl::StatusOr<int> stages = StagesOf(context);
  if (!stages.ok()) return stages.status();
  if (*stages == 1) return MakeSynchronousTrainer(context, std::move(state), extra);
  const int replicas = context.ranks->size() / *stages;
  const absl::StatusOr<BatchCut> cut = CutOfBatches(context, replicas);
  if (!cut.ok()) return cut.status();
  const int shards = cut->shards / replicas;  // of the replica with the fewest
  if (parameters.micro_batches > shards)
    return absl::InvalidArgumentError(fmt::format(
        "hyperparameter micro_batches = {}: expected at most {}, as a batch is cut into {} virtual shards "
        "(hyperparameter virtual_shards){}",
        parameters.micro_batches, shards, cut->shards,
        replicas > 1 ? fmt::format(" for {} copies of the pipeline", replicas) : ""));
  const absl::StatusOr<const Kernels*> kernels = AgreedKernels(parameters.precision, context.ranks);
  if (!kernels.ok()) return kernels.status();
  PipelineLayout layout;
  layout.replicas = replicas;
  layout.micro_batches = parameters.micro_batches;
  const int micro_batches = parameters.micro_batches > 0 ? parameters.micro_batches : shards;
  absl::StatusOr<std::vector<int>> begins = AgreedStages(
      context, **kernels, state, std::max<int64_t>(1, cut->rows / replicas / micro_batches), *stages);
  if (!begins.ok()) return begins.status();
  layout.layer_begins = *std::move(begins);
  absl::StatusOr<std::unique_ptr<Messenger>> messenger = ConnectMessenger(context.ranks);
  if (!messenger.ok()) return messenger.status();
  return MakeTrainerOf(context, *cut,
                       std::make_unique<PipelineStep>(context, std::move(state), **kernels, *cut,
                                                      std::move(layout), *std::move(messenger)),
                       extra);
}

}  // namespace winnow::mlp
