#pragma once

#include <span>
#include <vector>

#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// What the last layer gives for rows [begin, end) of `data`, before softmax or logistic: [row -
// begin][output], as at evaluation: no dropout, running statistics. f32 whatever parameters.precision. The
// same bits for any cut and threads.
std::vector<float> ForwardRows(const Network& network, const MlpParameters& parameters,
                               const NetworkState& state, const DenseData& data, int64_t begin, int64_t end,
                               Crew* crew);

}  // namespace winnow::mlp
