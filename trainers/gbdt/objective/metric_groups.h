#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// EvaluateMetric for means over groups: ndcg, map, pre, and auc and aucpr of rows with groups.
absl::StatusOr<double> GroupMetric(const Metric& metric, const GbdtParameters& parameters,
                                   const Targets& targets, std::span<const float> margin,
                                   Communicator* communicator);

}  // namespace winnow::gbdt
