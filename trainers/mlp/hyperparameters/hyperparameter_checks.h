#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Whether hyperparameters, each legal for itself, go together. `given`: first names of those that were given.
// InvalidArgument names one that contradicts another.
absl::Status CheckMlpTogether(const MlpParameters& parameters, const std::set<std::string>& given);

// What has no effect, cannot be repeated, or depends on the number of ranks, in words.
std::vector<std::string> MlpWarnings(const MlpParameters& parameters, const std::set<std::string>& given);

}  // namespace winnow::mlp
