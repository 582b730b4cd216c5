#include "server/sagemaker/jobs/training_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "server/sagemaker/wire/aws_error.h"

namespace winnow {
namespace {

using nlohmann::json;

constexpr char kPython[] = "python3";
constexpr const char* kFrameworks[] = {"pytorch-training",
                                       "sagemaker-pytorch",
                                       "tensorflow-training",
                                       "sagemaker-tensorflow",
                                       "sagemaker-tensorflow-scriptmode",
                                       "mxnet-training",
                                       "sagemaker-mxnet",
                                       "sagemaker-chainer",
                                       "sagemaker-scikit-learn",
                                       "huggingface-pytorch-training",
                                       "xgboost",
                                       "sagemaker-xgboost"};

bool IsFramework(const std::string& repository) {
  return std::find(std::begin(kFrameworks), std::end(kFrameworks), repository) != std::end(kFrameworks);
}

absl::Status WrongEntry(const std::filesystem::path& file, const std::string& entry) {
  return absl::InvalidArgumentError(fmt::format(
      "{}: {} is wrong; expected an object with \"command\", a list of texts, or \"container\", a text",
      file.string(), entry));
}

}  // namespace

absl::StatusOr<TrainingImages> TrainingImages::Open(const std::filesystem::path& file) {
  std::ifstream stream(file);
  const json table = json::parse(stream, nullptr, false);
  if (!stream.is_open() || !table.is_object())
    return absl::InvalidArgumentError(
        fmt::format("{}: cannot be read; expected a JSON object of images", file.string()));
  TrainingImages images;
  for (const auto& [name, entry] : table.items()) {
    if (!entry.is_object() || entry.empty()) return WrongEntry(file, name);
    TrainingImage image;
    for (const auto& [member, value] : entry.items()) {
      if (member == "container" && value.is_string() && !value.get_ref<const std::string&>().empty()) {
        image.container = value.get<std::string>();
      } else if (member == "command" && value.is_array() && !value.empty() &&
                 std::all_of(value.begin(), value.end(), [](const json& each) { return each.is_string(); })) {
        image.command = value.get<std::vector<std::string>>();
      } else {
        return WrongEntry(file, name + "." + member);
      }
    }
    if (image.command.empty()) image.command = {kPython};
    images.images_[name] = std::move(image);
  }
  return images;
}

std::string RepositoryOf(const std::string& image) {
  const size_t slash = image.rfind('/');
  const std::string name = slash == std::string::npos ? image : image.substr(slash + 1);
  return name.substr(0, name.find_first_of(":@"));
}

bool IsXgboost(const std::string& image) {
  const std::string repository = RepositoryOf(image);
  return repository == "xgboost" || repository == "sagemaker-xgboost";
}

absl::StatusOr<TrainingImage> TrainingImages::Find(const std::string& image,
                                                   const json& hyperparameters) const {
  const std::string repository = RepositoryOf(image);
  const auto given = images_.find(repository);
  const bool script = hyperparameters.contains("sagemaker_program");
  if (given != images_.end() && (script || !given->second.container.empty())) return given->second;
  if (IsXgboost(image) && !script) return TrainingImage{.builtin = true, .command = {}, .container = ""};
  if (script && IsFramework(repository))
    return TrainingImage{.builtin = false, .command = {kPython}, .container = ""};
  if (IsFramework(repository) || given != images_.end())
    return AwsError(
        "ValidationException",
        "The training image " + image +
            " needs a script here: the hyperparameters sagemaker_program and sagemaker_submit_directory.");
  return AwsError(
      "ValidationException",
      "The training image " + image +
          " is not offered here; expected one of xgboost, of a framework with a script, or one that "
          "the server's file of images names (--sagemaker-images).");
}

}  // namespace winnow
