#pragma once

#include <span>
#include <vector>

#include "worker/mlp/crew.h"
#include "worker/mlp/dense_data.h"
#include "worker/mlp/hyperparameters.h"
#include "worker/mlp/network.h"

namespace winnow {

// What the last layer gives for rows [begin, end) of `data`, before softmax or logistic: [row -
// begin][output], as at evaluation: no dropout, running statistics. f32 whatever parameters.precision. The
// same bits for any cut and threads.
std::vector<float> ForwardRows(const Network& network, const MlpParameters& parameters,
                               const NetworkState& state, const DenseData& data, int64_t begin, int64_t end,
                               Crew* crew);

}  // namespace winnow
