#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/gbdt/trainer.h"
#include "worker/trainer/contract.h"

namespace winnow {

// The request that the trainer contract (docs/trainer-contract.md) makes by environment variables. Errors as
// of FilesFromContract, warnings as of ParseHyperparameters.
absl::StatusOr<TrainRequest> RequestFromContract(const EnvironmentReader& environment,
                                                 std::vector<std::string>* warnings);

}  // namespace winnow
