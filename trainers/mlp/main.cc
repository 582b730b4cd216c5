// winnow-mlp: trains under the trainer contract or by flags, and predicts.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/standard_streams.h"
#include "trainers/common/contract.h"
#include "trainers/common/fork_server.h"
#include "trainers/common/program.h"
#include "trainers/common/train_flags.h"
#include "trainers/mlp/data/training_input.h"
#include "trainers/mlp/model_commands.h"
#include "trainers/mlp/trainer.h"

namespace winnow::mlp {
namespace {

// Flags beyond those of every trainer.
struct Flags {
  TrainFlags common;
  bool profile = false;
};

void AddTrainFlags(CLI::App* app, Flags* flags) {
  TrainFiles& files = flags->common.files;
  flags->common.AddTo(app);
  app->add_option("--format", files.train_reading.format, "auto, csv, libsvm or idx")->capture_default_str();
  flags->common.AddRunFlags(app, "epoch");
  app->add_flag("--profile", flags->profile, "Prints where each rank spent its time, and a diagnosis");
  app->add_option("--profile-dir", files.output_folder,
                  "Directory for the profile: profile.txt, and trace.json for chrome://tracing")
      ->type_name("DIR");
}

absl::StatusOr<TrainRequest> RequestFromFlags(const Flags& flags, std::vector<std::string>* warnings) {
  const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
  if (!text.ok()) return text.status();
  absl::StatusOr<MlpParameters> parameters = ParseMlpHyperparameters(*text, warnings);
  if (!parameters.ok()) return flags.common.OfHyperparameters(parameters.status());
  parameters->nthread = flags.common.ThreadsOr(parameters->nthread);
  if (flags.profile || !flags.common.files.output_folder.empty()) parameters->profile = true;
  return TrainRequest{flags.common.files, *std::move(parameters)};
}

absl::StatusOr<TrainRequest> RequestFromEnvironment(const EnvironmentReader& environment,
                                                    std::vector<std::string>* warnings) {
  return RequestFromContract<TrainRequest>(environment,
                                           ParseMlpHyperparameters(ValueOf(environment, "SM_HPS"), warnings));
}

void Prepare() {
  std::vector<std::string> ignored;
  const absl::StatusOr<TrainRequest> request = RequestFromEnvironment(EnvironmentOfParent, &ignored);
  if (request.ok()) PrepareTrainingData(*request, request->parameters);
}

int Main(int argc, char** argv) {
  if (const std::optional<int> end = ServeForks(Prepare)) return *end;
  const TrainerMain process("winnow-mlp");
  std::vector<std::string> warnings;
  if (!IsStartedByHand(argc, argv, ModelCommands::IsName))
    return process.Train(RequestFromEnvironment(OwnEnvironmentValue, &warnings), warnings, RunTraining);
  CLI::App app(
      "Multilayer perceptrons for classification and regression. Without --train, and with SM_HPS in the "
      "environment, it runs under the trainer contract.",
      "winnow-mlp");
  app.set_version_flag("--version", "winnow-mlp " WINNOW_VERSION);
  Flags flags;
  AddTrainFlags(&app, &flags);
  ModelCommands model_commands(&app);
  if (const std::optional<int> end = EndOfParsing(&app, argc, argv, process)) return *end;
  if (model_commands.asked()) {
    const absl::Status status = model_commands.Run();
    return status.ok() ? 0 : process.Fail(status);
  }
  if (const std::string problem = flags.common.Settle(); !problem.empty()) return process.Usage(problem);
  return process.Train(RequestFromFlags(flags, &warnings), warnings, RunTraining);
}

}  // namespace
}  // namespace winnow::mlp

int main(int argc, char** argv) {
  winnow::OpenStandardStreams();
  try {
    return winnow::mlp::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("winnow-mlp: out of memory\n", stderr);
    return 1;
  }
}
