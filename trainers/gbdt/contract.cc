#include "trainers/gbdt/contract.h"

#include <utility>

namespace winnow::gbdt {

absl::StatusOr<TrainRequest> RequestFromContract(const EnvironmentReader& environment,
                                                 std::vector<std::string>* warnings) {
  absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(ValueOf(environment, "SM_HPS"), warnings);
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<int64_t> seed = SeedFromContract(environment, parameters->seed);
  if (!seed.ok()) return seed.status();
  if (!parameters->seed_given) parameters->seed = *seed;
  absl::StatusOr<TrainFiles> files = FilesFromContract(environment);
  if (!files.ok()) return files.status();
  files->train_reading.categorical |= parameters->enable_categorical;
  files->validation_reading.categorical |= parameters->enable_categorical;
  TrainRequest request;
  static_cast<TrainFiles&>(request) = *std::move(files);
  request.parameters = *std::move(parameters);
  return request;
}

}  // namespace winnow::gbdt
