#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/contract.h"
#include "trainers/gbdt/trainer.h"

namespace winnow::gbdt {

// The request that the trainer contract (docs/trainer-contract.md) makes by environment variables. Errors as
// of FilesFromContract, warnings as of ParseHyperparameters.
absl::StatusOr<TrainRequest> RequestFromContract(const EnvironmentReader& environment,
                                                 std::vector<std::string>* warnings);

}  // namespace winnow::gbdt
