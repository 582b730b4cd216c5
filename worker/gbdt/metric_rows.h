#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "worker/collective/communicator.h"
#include "worker/gbdt/hyperparameters.h"
#include "worker/gbdt/targets.h"

namespace winnow {

// As EvaluateMetric, for metrics that are means over rows.
absl::StatusOr<double> RowMetric(const Metric& metric, const GbdtParameters& parameters,
                                 const Targets& targets, std::span<const float> margin,
                                 Communicator* communicator);

}  // namespace winnow
