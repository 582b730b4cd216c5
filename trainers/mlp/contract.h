#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/contract.h"
#include "trainers/mlp/train_request.h"

namespace winnow::mlp {

// The request that the trainer contract (docs/trainer-contract.md) makes by environment variables. Errors as
// of FilesFromContract, warnings as of ParseMlpHyperparameters.
absl::StatusOr<MlpTrainRequest> MlpRequestFromContract(const EnvironmentReader& environment,
                                                       std::vector<std::string>* warnings);

}  // namespace winnow::mlp
