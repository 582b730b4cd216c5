#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

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

// Returns the request of a trainer under the contract with these hyperparameters. WINNOW_SEED is the default
// for their seed. Errors as above, and those of the hyperparameters.
template <typename Request, typename Parameters>
absl::StatusOr<Request> RequestFromContract(const EnvironmentReader& environment,
                                            absl::StatusOr<Parameters> parameters) {
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<int64_t> seed = SeedFromContract(environment, static_cast<int64_t>(parameters->seed));
  if (!seed.ok()) return seed.status();
  if (!parameters->seed_given) parameters->seed = *seed;
  absl::StatusOr<TrainFiles> files = FilesFromContract(environment);
  if (!files.ok()) return files.status();
  Request request;
  static_cast<TrainFiles&>(request) = *std::move(files);
  request.parameters = *std::move(parameters);
  return request;
}

}  // namespace winnow
