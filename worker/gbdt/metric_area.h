#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "worker/collective/communicator.h"
#include "worker/gbdt/hyperparameters.h"
#include "worker/gbdt/targets.h"
#include "worker/gbdt/tie_runs.h"

namespace winnow {

// As EvaluateMetric, for auc and aucpr of rows without groups. With several ranks each gets one range of the
// scores from all, as runs of ties, and the parts of the area are summed as integers.
absl::StatusOr<double> AreaMetric(const Metric& metric, const GbdtParameters& parameters,
                                  const Targets& targets, std::span<const float> margin,
                                  Communicator* communicator);

// aucpr of the rows, which are this rank's alone; NaN where only one class has weight.
double AreaUnderPrecisionRecall(const ScoredRows& rows);

}  // namespace winnow
