#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/hyperparameters/metric.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// Returns the metrics' values over all rows of `data`, in the order of `metrics`. Each rank evaluates a
// contiguous part of the rows. All ranks call with the same data and state and get the same values, whose
// bits depend neither on the number of ranks nor on threads.
//
// NaN: no row has weight; an output of a row with weight is not finite; for auc, a class has no weight, or
// all of it. Errors are the Communicator's.
absl::StatusOr<std::vector<double>> Evaluate(const Network& network, const MlpParameters& parameters,
                                             const NetworkState& state, const DenseData& data,
                                             std::span<const MlpMetric> metrics, Communicator* ranks,
                                             Crew* crew);

// Evaluate with given outputs: [row - first][output] of the rows [first, first + rows) of data, which are
// this rank's; ranks have theirs in order. REQUIRES: outputs.size() is a multiple of `width`.
absl::StatusOr<std::vector<double>> EvaluateOutputs(const MlpParameters& parameters,
                                                    std::span<const float> outputs, int width,
                                                    const DenseData& data, int64_t first,
                                                    std::span<const MlpMetric> metrics, Communicator* ranks);

// Returns every rank's floats, of any number, concatenated by rank and so in row order. All ranks call it.
absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks);

// GatherFloats for the optimizer state of each rank's piece. All ranks call it.
absl::Status GatherSlots(NetworkState* state, Communicator* ranks);

}  // namespace winnow::mlp
