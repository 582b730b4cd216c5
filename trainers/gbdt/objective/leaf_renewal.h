#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// Whether leaves get values other than those of their gradients: reg:absoluteerror and reg:quantileerror.
bool RenewsLeaves(ObjectiveKind objective);

// values[leaf] becomes the quantile (the median for reg:absoluteerror) of label - margin over the leaf's rows
// of all ranks, weighted by their weights, times eta / num_parallel_tree, as in XGBoost 2.0; 1.7.4 omits eta.
// A leaf without rows or weight keeps its value. margin: before the tree; leaf_of_row[row] is below 0 for a
// row that did not grow the tree. All ranks must call, and get the same values. REQUIRES:
// RenewsLeaves(parameters.objective); values->size() == leaves.
absl::Status RenewLeaves(const GbdtParameters& parameters, const Targets& targets, const float* margin,
                         std::span<const int32_t> leaf_of_row, int leaves, Communicator* communicator,
                         std::vector<float>* values);

// Returns base_score from the labels of all ranks: the median or quantile for objectives that estimate it,
// unless it is given; otherwise parameters.base_score. All ranks must call.
absl::StatusOr<double> EstimateBaseScore(const GbdtParameters& parameters, const Targets& targets,
                                         Communicator* communicator);

}  // namespace winnow::gbdt
