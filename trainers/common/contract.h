#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/common/train_files.h"

namespace winnow {

// Returns the value of an environment variable, null if it is not set.
using EnvironmentReader = std::function<const char*(const char* name)>;

// Returns the value of an environment variable, "" if it is not set.
std::string ValueOf(const EnvironmentReader& environment, const char* name);

// Reads files and levels from the environment variables of the trainer contract (docs/trainer-contract.md).
// Errors name the variable, its value and what was expected.
absl::StatusOr<TrainFiles> FilesFromContract(const EnvironmentReader& environment);

// WINNOW_SEED, `otherwise` if it is not set. Errors as above.
absl::StatusOr<int64_t> SeedFromContract(const EnvironmentReader& environment, int64_t otherwise);

}  // namespace winnow
