#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/common/contract.h"
#include "trainers/gbdt/trainer.h"

namespace winnow::gbdt {

// Returns the request in the environment variables of the trainer contract (docs/trainer-contract.md). Errors
// as FilesFromContract, warnings as ParseHyperparameters.
absl::StatusOr<TrainRequest> RequestFromContract(const EnvironmentReader& environment,
                                                 std::vector<std::string>* warnings);

}  // namespace winnow::gbdt
