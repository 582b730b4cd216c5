#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// -1, 0 or 1 for each feature; empty where nothing is constrained. As in XGBoost a list may be shorter than
// there are features. InvalidArgument: a list that is longer, or a name that is no feature's.
absl::StatusOr<std::vector<int>> MonotoneDirections(const GbdtParameters& parameters,
                                                    const std::vector<std::string>& feature_names);

// Per group its features' numbers, ascending; empty where nothing is constrained. An entry is a feature's
// name or else its number. InvalidArgument names the entry that is neither.
absl::StatusOr<std::vector<std::vector<int>>> InteractionGroups(
    const GbdtParameters& parameters, const std::vector<std::string>& feature_names);

}  // namespace winnow::gbdt
