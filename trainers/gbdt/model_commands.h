#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "trainers/gbdt/model/predictor.h"

namespace CLI {
class App;
}

namespace winnow::gbdt {

// The subcommands of winnow-gbdt: predict, importance and convert, which work on a model, and
// hyperparameters.
class ModelCommands {
 public:
  static bool IsName(std::string_view argument);

  // Adds them to `app`. REQUIRES: this object is not moved until `app` is parsed.
  explicit ModelCommands(CLI::App* app);

  bool asked() const;  // whether one of them was parsed
  absl::Status Run() const;

 private:
  void AddPredict(CLI::App* app);
  absl::Status PrintImportance() const;

  CLI::App *predict_, *importance_, *convert_, *hyperparameters_;
  PredictRequest request_;
  std::string model_path_, output_path_;
  std::string type_ = "gain", format_ = "csv";
};

}  // namespace winnow::gbdt
