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

// The metrics' values of all rows of `data`, in the order of `metrics`. Each rank evaluates a contiguous part
// of the rows; all ranks call with the same data and state and get the same values, whose bits depend neither
// on the number of ranks nor on that of threads.
//
// NaN: where no row has weight; where an output of a row that has is not finite; auc where a class has no
// weight, or has all of it. Errors are the Communicator's.
absl::StatusOr<std::vector<double>> Evaluate(const Network& network, const MlpParameters& parameters,
                                             const NetworkState& state, const DenseData& data,
                                             std::span<const MlpMetric> metrics, Communicator* ranks,
                                             Crew* crew);

// The same of outputs that are there already: [row - first][output] of the rows [first, first + rows) of
// data, which are this rank's, the ranks' in order. REQUIRES: outputs.size() a multiple of `width`.
absl::StatusOr<std::vector<double>> EvaluateOutputs(const MlpParameters& parameters,
                                                    std::span<const float> outputs, int width,
                                                    const DenseData& data, int64_t first,
                                                    std::span<const MlpMetric> metrics, Communicator* ranks);

// Every rank's floats, as many as each has, by rank and so in the order of their rows. All ranks call it.
absl::StatusOr<std::vector<float>> GatherFloats(std::span<const float> mine, Communicator* ranks);

}  // namespace winnow::mlp
