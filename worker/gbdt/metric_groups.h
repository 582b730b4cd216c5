#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "worker/collective/communicator.h"
#include "worker/gbdt/hyperparameters.h"
#include "worker/gbdt/targets.h"

namespace winnow {

// As EvaluateMetric, for what is a mean over groups: ndcg, map, pre, and auc and aucpr of rows with groups.
absl::StatusOr<double> GroupMetric(const Metric& metric, const GbdtParameters& parameters,
                                   const Targets& targets, std::span<const float> margin,
                                   Communicator* communicator);

}  // namespace winnow
