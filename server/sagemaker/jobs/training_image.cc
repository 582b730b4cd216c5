#include "server/sagemaker/jobs/training_image.h"

#include "server/sagemaker/wire/aws_error.h"

namespace winnow {

std::string RepositoryOf(const std::string& image) {
  const size_t slash = image.rfind('/');
  std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
  return name.substr(0, name.find_first_of(":@"));
}

absl::StatusOr<TrainingImage> FindTrainingImage(const std::string& image,
                                                const nlohmann::json& hyperparameters) {
  const std::string repository = RepositoryOf(image);
  if (repository != "xgboost" && repository != "sagemaker-xgboost") {
    return AwsError("ValidationException",
                    "The training image " + image +
                        " is not offered here; expected one whose repository is xgboost or "
                        "sagemaker-xgboost.");
  }
  if (hyperparameters.contains("sagemaker_program"))
    return AwsError("ValidationException", "Script mode of " + repository + " is not offered here.");
  return TrainingImage{.builtin = true};
}

}  // namespace winnow
