#pragma once

#include <limits>
#include <span>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"
#include "trainers/gbdt/objective/tie_runs.h"

namespace winnow::gbdt {

// The result if only one class has weight.
constexpr double kNoArea = std::numeric_limits<double>::quiet_NaN();

// EvaluateMetric for auc and aucpr of rows without groups. With several ranks each receives one range of the
// scores from all, as runs of ties, and the parts of the area are summed as integers.
absl::StatusOr<double> AreaMetric(const Metric& metric, const GbdtParameters& parameters,
                                  const Targets& targets, std::span<const float> margin,
                                  Communicator* communicator);

// Returns aucpr of the rows, which are this rank's alone; kNoArea if only one class has weight.
double AreaUnderPrecisionRecall(const ScoredRows& rows);

}  // namespace winnow::gbdt
