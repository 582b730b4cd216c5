#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/mlp/network/kernels.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Divides layers into `stages` runs, of one layer or more each, with the least cost of the most expensive
// run: stage s has the layers [begins[s], begins[s + 1]). REQUIRES: 1 <= stages <= costs.size(); costs are
// finite and not negative.
std::vector<int> SplitLayers(std::span<const double> costs, int stages);

// Measures the seconds of each layer for a micro-batch of `rows`, forward, backward and gradients, on one
// thread.
std::vector<double> MeasuredLayerCosts(const TrainingContext& context, const Kernels& kernels,
                                       const NetworkState& state, int64_t rows);

// SplitLayers by rank 0's measured costs, on all ranks, which all call it.
absl::StatusOr<std::vector<int>> AgreedStages(const TrainingContext& context, const Kernels& kernels,
                                              const NetworkState& state, int64_t rows, int stages);

// Distribution::kPipeline: the layers are split into stages of similar cost, a rank works on one stage, and
// micro-batches go through them one forward, one backward. Several copies of the pipeline (replicas) divide a
// batch. The parameters have the same bits as ALL_REDUCE's, on any number of ranks.
//
// Gradients of weights are computed when all rows of the batch have come back, because their integer scale
// depends on all rows: a backward pass goes through inputs alone (as in Qi et al. 2023, Zero Bubble Pipeline
// Parallelism, section 2), and a stage keeps inputs and deltas of all its rows.
//
// A rank has the optimizer state of its own layers only; after an epoch every rank has the parameters of all
// layers. Further metric: bubble-share, the fraction of the steps' time in which ranks wait for each other.
// With one stage only (one rank, one layer, pipeline_stages 1), it is ALL_REDUCE.
//
// InvalidArgument: batch norm; stages that do not divide ranks or layers; fewer virtual shards than replicas
// or micro-batches; a batch of more rows than there are.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakePipelineTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& extra);

}  // namespace winnow::mlp
