#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/portable_math.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/objective/targets.h"

namespace winnow::gbdt {

// The margin from which every row starts: base_score on the objective's own scale.
float BaseMargin(const GbdtParameters& parameters);

// Whether labels are classes, which may also be text.
bool LearnsClasses(ObjectiveKind objective);

// InvalidArgument names the first row (from 1, in the data of all ranks) or group (from 1, of this rank)
// whose label or weight the objective, or a metric of parameters.metrics, does not allow.
absl::Status CheckLabels(const GbdtParameters& parameters, const Targets& targets);

// Returns borders of blocks of about `about_rows` rows, from 0 to targets.rows, for ComputeGradients: no
// block divides a group.
std::vector<int64_t> GradientBlocks(const Targets& targets, int64_t about_rows);

// Computes first and second derivatives of the loss at the margins, times the row's weight, for rows [begin,
// end), which are whole blocks. margin, gradient and hessian are [class][row] with targets.rows rows per
// class. Several threads may compute blocks at once. The losses are those of XGBoost 1.7.4 (reg:quantileerror
// of 2.0) except that
// - rank:ndcg and rank:pairwise, which sample pairs there, take all pairs with one of the group's first
//   lambdarank_num_pair_per_sample rows: XGBoost 2's lambdarank_pair_method=topk.
// - the values are finite for all margins.
// mean_weight, of groups, is what the weights of rank:ndcg and rank:pairwise count in relation to. A row or
// group of weight 0 has neither gradient nor hessian.
void ComputeGradients(const GbdtParameters& parameters, const Targets& targets,
                      const std::vector<float>& margin, int64_t begin, int64_t end, float* gradient,
                      float* hessian, double mean_weight = 1);

// Returns the mean weight of the groups of all ranks; 1 if there are no weights or none is above 0. All ranks
// must call.
absl::StatusOr<double> MeanGroupWeight(const Targets& targets, Communicator* communicator);

// Returns predictions from margins, both [class][row]: probabilities; the class for multi:softmax, one value
// per row; 0 or 1 for binary:hinge; e^margin for count:poisson, reg:gamma and reg:tweedie; otherwise the
// margins.
std::vector<float> PredictionsFrom(const GbdtParameters& parameters, const std::vector<float>& margin,
                                   int64_t rows);

// Computes what metrics compare with labels: probabilities for multi:softmax and binary:logitraw, otherwise
// the prediction. `out` is [class][row of the part] for the rows [begin, end).
void MetricPredictions(const GbdtParameters& parameters, std::span<const float> margin, int64_t rows,
                       int64_t begin, int64_t end, float* out);

// Returns every row's weight: 1 if none are given, its group's if weights are of groups.
std::vector<float> RowWeights(const Targets& targets);

}  // namespace winnow::gbdt
