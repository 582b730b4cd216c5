#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/common/portable_math.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// The margin every row starts from: base_score on the objective's own scale.
float BaseMargin(const GbdtParameters& parameters);

// Whether labels are classes, which may also be text.
bool LearnsClasses(ObjectiveKind objective);

// InvalidArgument names the first of these rows (from 1, in the data of all ranks) or groups (from 1, of this
// rank) whose label or weight the objective, or a metric among parameters.metrics, cannot take.
absl::Status CheckLabels(const GbdtParameters& parameters, const Targets& targets);

// Borders of blocks of about `about_rows` rows, from 0 to targets.rows, that ComputeGradients may be called
// for: no block divides a group.
std::vector<int64_t> GradientBlocks(const Targets& targets, int64_t about_rows);

// First and second derivatives of the loss at the margins, times the row's weight, for rows [begin, end),
// which are whole blocks. margin, gradient and hessian are [class][row] with targets.rows rows to a class.
// Blocks may be computed by several threads at once. The losses are those of XGBoost 1.7.4 (reg:quantileerror
// of 2.0) except that
// - rank:ndcg and rank:pairwise, which sample pairs there, take all pairs with one of the group's first
//   lambdarank_num_pair_per_sample rows: XGBoost 2's lambdarank_pair_method=topk. Weights of groups count as
//   they are, and not in relation to their mean.
// - the values stay finite for whichever margins.
// A row or group of weight 0 has neither gradient nor hessian.
void ComputeGradients(const GbdtParameters& parameters, const Targets& targets,
                      const std::vector<float>& margin, int64_t begin, int64_t end, float* gradient,
                      float* hessian);

// Predictions from margins, both [class][row]: probabilities; the class for multi:softmax, which is one value
// a row; 0 or 1 for binary:hinge; e^margin for count:poisson, reg:gamma and reg:tweedie; else the margins
// themselves.
std::vector<float> PredictionsFrom(const GbdtParameters& parameters, const std::vector<float>& margin,
                                   int64_t rows);

// What metrics compare with labels: of multi:softmax probabilities, and of binary:logitraw too; else the
// prediction. `out` is [class][row of the part] for the rows [begin, end).
void MetricPredictions(const GbdtParameters& parameters, std::span<const float> margin, int64_t rows,
                       int64_t begin, int64_t end, float* out);

// The weight of every row: 1 where none are given, that of its group where weights are of groups.
std::vector<float> RowWeights(const Targets& targets);

}  // namespace winnow::gbdt
