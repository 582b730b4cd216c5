// winnow-mlp: trains under the trainer contract or by flags, and predicts.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/program.h"
#include "trainers/common/train_flags.h"
#include "trainers/mlp/contract.h"
#include "trainers/mlp/model_commands.h"
#include "trainers/mlp/trainer.h"

namespace winnow::mlp {
namespace {

// Flags beyond those of every trainer.
struct MlpFlags {
  TrainFlags common;
  std::string timing_path;
  bool profile = false;
};

void AddTrainFlags(CLI::App* app, MlpFlags* flags) {
  TrainFiles& files = flags->common.files;
  flags->common.AddTo(app);
  app->add_option("--format", files.train_reading.format, "auto, csv, libsvm or idx")->capture_default_str();
  app->add_flag("--sharded", files.train_sharded,
                "Each rank reads its own files of the folders --train and --validation; else all read all");
  app->add_option("--timing", flags->timing_path,
                  "File that gets the seconds of set-up, of each epoch and of each evaluation, as JSON")
      ->type_name("FILE");
  app->add_flag("--profile", flags->profile,
                "Prints where the time of each rank went, and what can be said about it");
  app->add_option("--profile-dir", files.output_folder,
                  "Folder that gets the profile: profile.txt, and trace.json for chrome://tracing")
      ->type_name("DIR");
}

int Train(const TrainerMain& process, const MlpTrainRequest& request,
          const std::vector<std::string>& warnings) {
  return process.TrainAsRank(!request.checkpoint_folder.empty(), warnings,
                             [&](Communicator* ranks, const std::atomic<bool>& stop) {
                               return RunMlpTraining(request, ranks, stop, stdout, stderr);
                             });
}

int TrainByFlags(const TrainerMain& process, const MlpFlags& flags) {
  const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
  if (!text.ok()) return process.Fail(text.status());
  std::vector<std::string> warnings;
  absl::StatusOr<MlpParameters> parameters = ParseMlpHyperparameters(*text, &warnings);
  if (!parameters.ok()) return process.Fail(flags.common.OfHyperparameters(parameters.status()));
  MlpTrainRequest request;
  static_cast<TrainFiles&>(request) = flags.common.files;
  request.parameters = *std::move(parameters);
  request.parameters.nthread = flags.common.ThreadsOr(request.parameters.nthread);
  if (flags.profile || !request.output_folder.empty()) request.parameters.profile = true;
  request.timing_path = flags.timing_path;
  return Train(process, request, warnings);
}

int TrainUnderContract(const TrainerMain& process) {
  std::vector<std::string> warnings;
  const absl::StatusOr<MlpTrainRequest> request =
      MlpRequestFromContract([](const char* name) { return std::getenv(name); }, &warnings);
  if (!request.ok()) return process.Fail(request.status());
  return Train(process, *request, warnings);
}

int Main(int argc, char** argv) {
  const TrainerMain process("winnow-mlp");
  if (!IsStartedByHand(argc, argv, MlpModelCommands::IsName)) return TrainUnderContract(process);
  CLI::App app(
      "Multilayer perceptrons for classification and regression. Without --train, and with SM_HPS in the "
      "environment, it runs under the trainer contract.",
      "winnow-mlp");
  app.set_version_flag("--version", "winnow-mlp " WINNOW_VERSION);
  MlpFlags flags;
  AddTrainFlags(&app, &flags);
  MlpModelCommands model_commands(&app);
  if (const std::optional<int> end = EndOfParsing(&app, argc, argv, process)) return *end;
  if (model_commands.asked()) {
    const absl::Status status = model_commands.Run();
    return status.ok() ? 0 : process.Fail(status);
  }
  if (const std::string problem = flags.common.Settle(); !problem.empty()) return process.Usage(problem);
  return TrainByFlags(process, flags);
}

}  // namespace
}  // namespace winnow::mlp

int main(int argc, char** argv) {
  try {
    return winnow::mlp::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("winnow-mlp: out of memory\n", stderr);
    return 1;
  }
}
