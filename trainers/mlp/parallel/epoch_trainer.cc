#include "trainers/mlp/parallel/epoch_trainer.h"

#include <utility>

#include "trainers/mlp/parallel/local_sgd.h"
#include "trainers/mlp/parallel/parameter_server.h"
#include "trainers/mlp/parallel/pipeline_trainer.h"
#include "trainers/mlp/parallel/synchronous_trainer.h"

namespace winnow::mlp {

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
