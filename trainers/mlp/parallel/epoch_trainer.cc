#include "trainers/mlp/parallel/epoch_trainer.h"

#include <fmt/format.h>

#include <utility>

#include "trainers/mlp/parallel/local_sgd.h"
#include "trainers/mlp/parallel/parameter_server.h"
#include "trainers/mlp/parallel/pipeline_trainer.h"
#include "trainers/mlp/parallel/synchronous_trainer.h"

namespace winnow::mlp {

absl::Status DivergedError(const MlpParameters& parameters, int64_t epoch, int64_t epoch_step) {
  return absl::FailedPreconditionError(
      fmt::format("loss is nan at epoch {}, step {}: the learning rate may be too high (learning_rate = {})",
                  epoch, epoch_step, parameters.learning_rate));
}

absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeEpochTrainer(const TrainingContext& context,
                                                               NetworkState state, std::string extra) {
  switch (context.parameters.distribution) {
    case Distribution::kAllReduce:
    case Distribution::kZero:
      return MakeSynchronousTrainer(context, std::move(state), extra);
    case Distribution::kLocalSgd:
      return MakeLocalSgdTrainer(context, std::move(state), extra);
    case Distribution::kParameterServer:
      return MakeParameterServerTrainer(context, std::move(state), extra);
    case Distribution::kPipeline:
      return MakePipelineTrainer(context, std::move(state), extra);
  }
  return absl::InvalidArgumentError("no such distribution");
}

}  // namespace winnow::mlp
