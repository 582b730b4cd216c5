#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "trainers/mlp/model/predict.h"

namespace CLI {
class App;
}

namespace winnow::mlp {

// The subcommands of winnow-mlp: predict, export-onnx and show, which work on a model, and hyperparameters.
class ModelCommands {
 public:
  static bool IsName(std::string_view argument);

  // Adds them to `app`. REQUIRES: this object is not moved until `app` is parsed.
  explicit ModelCommands(CLI::App* app);

  bool asked() const;  // whether one of them was parsed
  absl::Status Run() const;

 private:
  void AddPredict(CLI::App* app);

  CLI::App *predict_, *export_, *show_, *hyperparameters_;
  PredictRequest request_;
  std::string model_path_, output_path_;
  bool json_ = false;
};

}  // namespace winnow::mlp
