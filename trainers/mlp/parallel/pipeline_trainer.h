#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Distribution::kPipeline: the layers are split into stages by what they cost, a rank works on one stage, and
// micro-batches go through them one forward, one backward (schedule_1f1b.h). Several copies of the pipeline
// (replicas) share a batch out. The parameters have the same bits as ALL_REDUCE's, on any number of ranks.
//
// Gradients of weights are computed when all rows of the batch have come back, as the scale that makes them
// integers is of all rows: a backward pass is one through inputs alone (as in Qi et al. 2023, Zero Bubble
// Pipeline Parallelism, section 2), and a stage keeps inputs and deltas of all its rows.
//
// Optimizer state is of a rank's own layers only; parameters of all layers are on every rank after an epoch.
// Further metric: bubble-share, of the steps' time that in which ranks wait for each other. Where one stage
// is all there is (one rank, one layer, pipeline_stages 1), it is ALL_REDUCE.
//
// InvalidArgument: batch norm; stages that ranks or layers cannot be divided into; fewer virtual shards than
// replicas or micro-batches; a batch of more rows than there are.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakePipelineTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& extra);

}  // namespace winnow::mlp
