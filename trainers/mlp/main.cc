// winnow-mlp: trains under the trainer contract or by flags, and predicts.

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/contract.h"
#include "trainers/common/train_flags.h"
#include "trainers/common/trainer_program.h"
#include "trainers/mlp/data/training_input.h"
#include "trainers/mlp/model_commands.h"
#include "trainers/mlp/trainer.h"

namespace winnow::mlp {
namespace {

struct Trainer {
  static constexpr char name[] = "winnow-mlp";
  static constexpr char version[] = "winnow-mlp " WINNOW_VERSION;
  static constexpr char description[] =
      "Multilayer perceptrons for classification and regression. Without --train, and with SM_HPS in the "
      "environment, it runs under the trainer contract.";
  using ModelCommands = mlp::ModelCommands;
  static constexpr auto RunTraining = mlp::RunTraining;

  // Flags beyond those of every trainer.
  struct Flags {
    TrainFlags common;
    bool profile = false;
  };

  static void AddTrainFlags(CLI::App* app, Flags* flags) {
    TrainFiles& files = flags->common.files;
    flags->common.AddTo(app);
    app->add_option("--format", files.train_reading.format, "auto, csv, libsvm or idx")
        ->capture_default_str();
    flags->common.AddRunFlags(app, "epoch");
    app->add_flag("--profile", flags->profile, "Prints where each rank spent its time, and a diagnosis");
    app->add_option("--profile-dir", files.output_folder,
                    "Directory for the profile: profile.txt, and trace.json for chrome://tracing")
        ->type_name("DIR");
  }

  static absl::StatusOr<TrainRequest> RequestFromFlags(const Flags& flags,
                                                       std::vector<std::string>* warnings) {
    const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
    if (!text.ok()) return text.status();
    absl::StatusOr<MlpParameters> parameters = ParseMlpHyperparameters(*text, warnings);
    if (!parameters.ok()) return flags.common.OfHyperparameters(parameters.status());
    parameters->nthread = flags.common.ThreadsOr(parameters->nthread);
    if (flags.profile || !flags.common.files.output_folder.empty()) parameters->profile = true;
    return TrainRequest{flags.common.files, *std::move(parameters)};
  }

  static absl::StatusOr<TrainRequest> RequestFromEnvironment(const EnvironmentReader& environment,
                                                             std::vector<std::string>* warnings) {
    return RequestFromContract<TrainRequest>(
        environment, ParseMlpHyperparameters(ValueOf(environment, "SM_HPS"), warnings));
  }

  static void Prepare() {
    std::vector<std::string> ignored;
    const absl::StatusOr<TrainRequest> request = RequestFromEnvironment(EnvironmentOfParent, &ignored);
    if (request.ok()) PrepareTrainingData(*request, request->parameters);
  }
};

}  // namespace
}  // namespace winnow::mlp

int main(int argc, char** argv) { return winnow::TrainerProgram<winnow::mlp::Trainer>(argc, argv); }
