#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/contract.h"
#include "trainers/mlp/train_request.h"

namespace winnow::mlp {

// Returns the request in the environment variables of the trainer contract (docs/trainer-contract.md). Errors
// as FilesFromContract, warnings as ParseMlpHyperparameters.
absl::StatusOr<MlpTrainRequest> MlpRequestFromContract(const EnvironmentReader& environment,
                                                       std::vector<std::string>* warnings);

}  // namespace winnow::mlp
