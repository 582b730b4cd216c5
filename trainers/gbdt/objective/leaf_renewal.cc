#include "trainers/gbdt/objective/leaf_renewal.h"

#include <cmath>

#include "trainers/gbdt/objective/group_quantiles.h"
#include "trainers/gbdt/objective/objective.h"

namespace winnow::gbdt {
namespace {

double AlphaOf(const GbdtParameters& parameters) {
  return parameters.objective == ObjectiveKind::kQuantile ? parameters.quantile_alpha : 0.5;
}

absl::StatusOr<std::vector<float>> Quantiles(const GbdtParameters& parameters, const Targets& targets,
                                             std::span<const float> values, std::span<const int32_t> group_of,
                                             int groups, Communicator* communicator) {
  // A rank without rows does not know whether there are weights.
  uint64_t weighted = targets.weight.empty() ? 0 : 1;
  if (communicator->size() > 1) {
    if (absl::Status status = communicator->AllReduceMax({&weighted, 1}); !status.ok()) return status;
  }
  const std::vector<float> weight = weighted > 0 ? RowWeights(targets) : std::vector<float>{};
  return GroupQuantiles(AlphaOf(parameters), values, group_of, groups, weighted > 0, weight, communicator);
}

}  // namespace

bool RenewsLeaves(ObjectiveKind objective) {
  return objective == ObjectiveKind::kAbsoluteError || objective == ObjectiveKind::kQuantile;
}

absl::Status RenewLeaves(const GbdtParameters& parameters, const Targets& targets, const float* margin,
                         std::span<const int32_t> leaf_of_row, int leaves, Communicator* communicator,
                         std::vector<float>* values) {
  std::vector<float> residues(targets.rows);
  for (int64_t i = 0; i < targets.rows; ++i) residues[i] = targets.label[i] - margin[i];
  const absl::StatusOr<std::vector<float>> quantiles =
      Quantiles(parameters, targets, residues, leaf_of_row, leaves, communicator);
  if (!quantiles.ok()) return quantiles.status();
  const float rate = static_cast<float>(parameters.eta / static_cast<double>(parameters.num_parallel_tree));
  for (int leaf = 0; leaf < leaves; ++leaf) {
    const float quantile = (*quantiles)[leaf];
    if (!std::isnan(quantile)) (*values)[leaf] = quantile * rate;
  }
  return absl::OkStatus();
}

absl::StatusOr<double> EstimateBaseScore(const GbdtParameters& parameters, const Targets& targets,
                                         Communicator* communicator) {
  if (!EstimatesBaseScore(parameters.objective) || parameters.base_score_given) return parameters.base_score;
  const std::vector<int32_t> one_group(targets.rows, 0);
  const absl::StatusOr<std::vector<float>> quantiles =
      Quantiles(parameters, targets, targets.label, one_group, 1, communicator);
  if (!quantiles.ok()) return quantiles.status();
  const float quantile = quantiles->front();
  return std::isnan(quantile) ? parameters.base_score : static_cast<double>(quantile);
}

}  // namespace winnow::gbdt
