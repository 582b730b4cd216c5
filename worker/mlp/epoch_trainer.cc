#include "worker/mlp/epoch_trainer.h"

#include <utility>

#include "worker/mlp/local_sgd.h"
#include "worker/mlp/parameter_server.h"
#include "worker/mlp/pipeline_trainer.h"
#include "worker/mlp/synchronous_trainer.h"

namespace winnow {

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

}  // namespace winnow
