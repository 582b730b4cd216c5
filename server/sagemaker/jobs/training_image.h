#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// What an image name stands for.
struct TrainingImage {
  bool builtin = false;  // winnow-gbdt, in place of the image of XGBoost
};

// `image`: "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"; its registry and tag are
// of no account. ValidationException: it is not offered.
absl::StatusOr<TrainingImage> FindTrainingImage(const std::string& image,
                                                const nlohmann::json& hyperparameters);

// "sagemaker-xgboost" of that name.
std::string RepositoryOf(const std::string& image);

}  // namespace winnow
