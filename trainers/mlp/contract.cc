#include "trainers/mlp/contract.h"

#include <utility>

namespace winnow::mlp {

absl::StatusOr<MlpTrainRequest> MlpRequestFromContract(const EnvironmentReader& environment,
                                                       std::vector<std::string>* warnings) {
  absl::StatusOr<MlpParameters> parameters =
      ParseMlpHyperparameters(ValueOf(environment, "SM_HPS"), warnings);
  if (!parameters.ok()) return parameters.status();
  const absl::StatusOr<int64_t> seed = SeedFromContract(environment, 0);
  if (!seed.ok()) return seed.status();
  if (!parameters->seed_given) parameters->seed = static_cast<uint64_t>(*seed);
  absl::StatusOr<TrainFiles> files = FilesFromContract(environment);
  if (!files.ok()) return files.status();
  MlpTrainRequest request;
  static_cast<TrainFiles&>(request) = *std::move(files);
  request.parameters = *std::move(parameters);
  return request;
}

}  // namespace winnow::mlp
