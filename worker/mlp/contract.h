#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/mlp/train_request.h"
#include "worker/trainer/contract.h"

namespace winnow {

// The request that the trainer contract (docs/trainer-contract.md) makes by environment variables. Errors as
// of FilesFromContract, warnings as of ParseMlpHyperparameters.
absl::StatusOr<MlpTrainRequest> MlpRequestFromContract(const EnvironmentReader& environment,
                                                       std::vector<std::string>* warnings);

}  // namespace winnow
