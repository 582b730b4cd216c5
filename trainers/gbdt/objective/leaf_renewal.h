#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// Whether leaves get other values than their gradients': those of reg:absoluteerror and reg:quantileerror.
bool RenewsLeaves(ObjectiveKind objective);

// values[leaf] becomes the quantile (the median for reg:absoluteerror) of label - margin over the leaf's rows
// of all ranks, weighted by their weights, times eta / num_parallel_tree. So XGBoost 2.0; 1.7.4 leaves eta
// out. A leaf without rows or without weight keeps its value. margin is as before the tree; leaf_of_row[row]
// is below 0 for a row that the tree was not grown from. All ranks must call, and get the same values.
// REQUIRES: RenewsLeaves(parameters.objective); values->size() == leaves.
absl::Status RenewLeaves(const GbdtParameters& parameters, const Targets& targets, const float* margin,
                         std::span<const int32_t> leaf_of_row, int leaves, Communicator* communicator,
                         std::vector<float>* values);

// What base_score shall be, from the labels of all ranks: the median or quantile with the objectives that
// estimate it, unless it is given; else parameters.base_score. All ranks must call.
absl::StatusOr<double> EstimateBaseScore(const GbdtParameters& parameters, const Targets& targets,
                                         Communicator* communicator);

}  // namespace winnow::gbdt
