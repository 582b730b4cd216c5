#pragma once

#include <cstdint>
#include <span>
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

}  // namespace winnow::mlp
