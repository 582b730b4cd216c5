#pragma once

#include <span>
#include <vector>

#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/network.h"

namespace winnow::mlp {

// Returns the last layer's outputs for rows [begin, end) of `data`, before softmax or logistic: [row -
// begin][output], in evaluation mode: no dropout, running statistics. Always f32, whatever
// parameters.precision. The same bits for any division of rows and any number of threads.
std::vector<float> ForwardRows(const Network& network, const MlpParameters& parameters,
                               const NetworkState& state, const DenseData& data, int64_t begin, int64_t end,
                               Crew* crew);

}  // namespace winnow::mlp
