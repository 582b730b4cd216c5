#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/training_step.h"

namespace winnow::mlp {

// Distribution::kAllReduce and kZero: every rank works on its virtual shards of each batch, and the sum of
// all gradients updates the parameters. Gradients of a shard are rounded to integers, whose sums are exact,
// so that the parameters have the same bits for any number of ranks and threads (except with compression,
// batch norm per rank or batch_scaling).
//
// kAllReduce: every rank sums and updates everything. kZero (Rajbhandari et al. 2020, stages 1 and 2): a rank
// sums and updates its piece, has the optimizer state of that piece alone, and ranks gather the parameters.
// Bytes sent and resulting bits are the same.
//
// InvalidArgument: more ranks than virtual shards, or a batch of more rows than there are.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeSynchronousTrainer(const TrainingContext& context,
                                                                     NetworkState state,
                                                                     const std::string& extra);

// Returns the division of batches over `takers`; InvalidArgument as above.
absl::StatusOr<BatchCut> CutOfBatches(const TrainingContext& context, int takers);

// Trains on the batches of an epoch with `step`.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeTrainerOf(const TrainingContext& context,
                                                            const BatchCut& cut,
                                                            std::unique_ptr<TrainingStep> step,
                                                            const std::string& extra);

}  // namespace winnow::mlp
