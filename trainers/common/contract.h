#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/common/train_files.h"

namespace winnow {

// The value of an environment variable, null if it is not set.
using EnvironmentReader = std::function<const char*(const char* name)>;

// The same, "" if it is not set.
std::string ValueOf(const EnvironmentReader& environment, const char* name);

// What the trainer contract (docs/trainer-contract.md) says of files and levels by environment variables.
// Errors name the variable, what it holds and what was expected.
absl::StatusOr<TrainFiles> FilesFromContract(const EnvironmentReader& environment);

// WINNOW_SEED, `otherwise` where it is not set. Errors as above.
absl::StatusOr<int64_t> SeedFromContract(const EnvironmentReader& environment, int64_t otherwise);

}  // namespace winnow
