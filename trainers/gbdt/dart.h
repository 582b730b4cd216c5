#pragma once

#include <cstdint>
#include <vector>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// DART (Rashmi and Gilad-Bachrach, "DART: Dropouts meet Multiple Additive Regression Trees", AISTATS 2015),
// with XGBoost's hyperparameters and weights. A round's gradients are those of the model without its dropped
// trees; afterwards dropped and new trees share the weight of the dropped ones.

// Returns the trees that `round` (from 0) drops, ascending; whether tree t is dropped is a function of the
// seed, the round and t. tree_weights: of all trees before the round. REQUIRES: booster=dart.
std::vector<int64_t> DroppedTrees(const GbdtParameters& parameters, int64_t round,
                                  const std::vector<float>& tree_weights);

// Appends the weights of a round's new trees (of all classes together) and adjusts those of the trees that it
// dropped (section 3 of the paper for normalize_type=tree).
void WeighNewTrees(const GbdtParameters& parameters, const std::vector<int64_t>& dropped, int64_t new_trees,
                   std::vector<float>* tree_weights);

}  // namespace winnow::gbdt
