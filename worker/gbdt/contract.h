#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/gbdt/trainer.h"

namespace winnow {

// The value of an environment variable, null if it is not set.
using EnvironmentReader = std::function<const char*(const char* name)>;

// The request that the trainer contract (docs/trainer-contract.md) makes by environment variables. Errors
// name the variable, what it holds and what was expected. Warnings as in ParseHyperparameters.
absl::StatusOr<TrainRequest> RequestFromContract(const EnvironmentReader& environment,
                                                 std::vector<std::string>* warnings);

}  // namespace winnow
