#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// What an image name stands for.
struct TrainingImage {
  bool builtin = false;              // winnow-gbdt, in place of the image of XGBoost
  std::vector<std::string> command;  // that runs a Python script, on the worker's host or in the container
  std::string container;             // the image of a container; "": none
};

// What image names stand for: those of frameworks for the workers' python3, and what a file says.
class TrainingImages {
 public:
  TrainingImages() = default;
  // The file is a JSON object: by the image's repository, {"command": ["/usr/bin/python3"], "container":
  // "IMAGE"}, of which one may be missing. INVALID_ARGUMENT names the entry that is wrong and what was
  // expected.
  static absl::StatusOr<TrainingImages> Open(const std::filesystem::path& file);

  // `image`: "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"; its registry and tag are
  // of no account. ValidationException: it is not offered.
  absl::StatusOr<TrainingImage> Find(const std::string& image, const nlohmann::json& hyperparameters) const;

 private:
  std::map<std::string, TrainingImage> images_;
};

// "sagemaker-xgboost" of that name.
std::string RepositoryOf(const std::string& image);
// Whether it is one of XGBoost's, whose metrics are known.
bool IsXgboost(const std::string& image);

}  // namespace winnow
