#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// Returns the value of a metric over the rows of all ranks, weighted by their weights: the same double for
// any order and distribution of the rows. margin is [class][row] of this rank. All ranks must call, and get
// the same value or an error. The definitions are XGBoost 1.7.4's (quantile: 2.0's), with these notes:
// - NaN for no rows or no weight.
// - binary:logitraw is measured by its probabilities.
// - auc and aucpr rank by margin, with ties counted half (auc) or as one step (aucpr), and are NaN if only
//   one class has weight. With multi:* they are the mean over the classes of one against the rest, by the
//   weight of the class; NaN unless each class has some. With groups they are the mean over groups, of auc
//   with 3 rows at least.
// - tweedie-nloglik without @ takes tweedie_variance_power; error without @ takes 0.5.
// - ndcg, map and pre are means over groups by the groups' weights, which 1.7.4 ignores. pre without @ takes
//   all rows of a group.
// - accuracy, f1 and mse are those of SageMaker's image of XGBoost, with the weights, which that ignores.
//   f1 is the mean over the classes that rows have or get.
absl::StatusOr<double> EvaluateMetric(const Metric& metric, const GbdtParameters& parameters,
                                      const Targets& targets, std::span<const float> margin,
                                      Communicator* communicator);

// Whether a larger value is better.
bool HigherIsBetter(const Metric& metric);

// EvaluateMetric for means over rows.
absl::StatusOr<double> RowMetric(const Metric& metric, const GbdtParameters& parameters,
                                 const Targets& targets, std::span<const float> margin,
                                 Communicator* communicator);

// EvaluateMetric for f1.
absl::StatusOr<double> ClassMetric(const GbdtParameters& parameters, const Targets& targets,
                                   std::span<const float> margin, Communicator* communicator);

// EvaluateMetric for means over groups: ndcg, map, pre, and auc and aucpr of rows with groups.
absl::StatusOr<double> GroupMetric(const Metric& metric, const GbdtParameters& parameters,
                                   const Targets& targets, std::span<const float> margin,
                                   Communicator* communicator);

}  // namespace winnow::gbdt
