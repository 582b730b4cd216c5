#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Checks combinations of hyperparameters that are valid alone. `given`: canonical names of those that were
// given. InvalidArgument names one that contradicts another.
absl::Status CheckMlpTogether(const MlpParameters& parameters, const std::set<std::string>& given);

// Describes settings without effect, those that are not reproducible, and those that depend on the number of
// ranks.
std::vector<std::string> MlpWarnings(const MlpParameters& parameters, const std::set<std::string>& given);

}  // namespace winnow::mlp
