#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/mlp/parallel/epoch_trainer.h"
#include "trainers/mlp/parallel/training_step.h"

namespace winnow::mlp {

// Distribution::kAllReduce and kZero: every rank works on its virtual shards of each batch, and the sum of
// all gradients moves the parameters. Gradients of a shard are rounded to integers, whose sums are exact, so
// that the parameters have the same bits for any number of ranks and threads (but with compression, batch
// norm per rank or batch_scaling).
//
// kAllReduce: every rank sums all and moves all. kZero (Rajbhandari et al. 2020, stages 1 and 2): a rank sums
// and moves its piece, of which alone it has optimizer state, and ranks gather the parameters. The same bytes
// are sent, and the same bits result.
//
// InvalidArgument: more ranks than virtual shards, or a batch of more rows than there are.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeSynchronousTrainer(const TrainingContext& context,
                                                                     NetworkState state,
                                                                     const std::string& extra);

// How batches are cut where `takers` share a batch out; InvalidArgument as above.
absl::StatusOr<BatchCut> CutOfBatches(const TrainingContext& context, int takers);

// Trains on the batches of an epoch by `step`.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeTrainerOf(const TrainingContext& context,
                                                            const BatchCut& cut,
                                                            std::unique_ptr<TrainingStep> step,
                                                            const std::string& extra);

}  // namespace winnow::mlp
