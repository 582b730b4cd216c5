#pragma once

#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/collective/communicator.h"
#include "worker/mlp/crew.h"
#include "worker/mlp/dense_data.h"
#include "worker/mlp/hyperparameters.h"
#include "worker/mlp/metric.h"
#include "worker/mlp/network.h"

namespace winnow {

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

}  // namespace winnow
