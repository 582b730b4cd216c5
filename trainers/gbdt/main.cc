// winnow-gbdt: trains under the trainer contract or by flags, and predicts.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/program.h"
#include "trainers/common/train_flags.h"
#include "trainers/gbdt/contract.h"
#include "trainers/gbdt/model_commands.h"
#include "trainers/gbdt/trainer.h"

namespace winnow::gbdt {
namespace {

// Flags beyond those of every trainer.
struct GbdtFlags {
  TrainFlags common;
  std::string continue_from, timing_path;
};

void AddTrainFlags(CLI::App* app, GbdtFlags* flags) {
  TrainFiles& files = flags->common.files;
  flags->common.AddTo(app);
  app->add_option("--group", files.train_reading.group,
                  "Column of query ids, for ranking; rows of one stand together")
      ->type_name("COLUMN");
  app->add_option("--format", files.train_reading.format, "auto, csv or libsvm")->capture_default_str();
  app->add_option("--continue-from", flags->continue_from,
                  "Model, of winnow-gbdt or XGBoost, that num_round more rounds are added to")
      ->type_name("FILE");
  app->add_flag("--sharded", files.train_sharded,
                "Each rank reads its own files of the folders --train and --validation; else all read all");
  app->add_option("--timing", flags->timing_path,
                  "File that gets the seconds of set-up, of each round and of each evaluation, as JSON")
      ->type_name("FILE");
}

int Train(const TrainerMain& process, const TrainRequest& request, const std::vector<std::string>& warnings) {
  return process.TrainAsRank(!request.checkpoint_folder.empty(), warnings,
                             [&](Communicator* ranks, const std::atomic<bool>& stop) {
                               return RunTraining(request, ranks, stop, stdout, stderr);
                             });
}

int TrainByFlags(const TrainerMain& process, const GbdtFlags& flags) {
  const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
  if (!text.ok()) return process.Fail(text.status());
  std::vector<std::string> warnings;
  absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(*text, &warnings);
  if (!parameters.ok()) return process.Fail(flags.common.OfHyperparameters(parameters.status()));
  TrainRequest request;
  static_cast<TrainFiles&>(request) = flags.common.files;
  request.parameters = *std::move(parameters);
  request.parameters.nthread = flags.common.ThreadsOr(request.parameters.nthread);
  request.train_reading.categorical = request.parameters.enable_categorical;
  request.validation_reading.categorical = request.parameters.enable_categorical;
  request.continue_from = flags.continue_from;
  request.timing_path = flags.timing_path;
  return Train(process, request, warnings);
}

int TrainUnderContract(const TrainerMain& process) {
  std::vector<std::string> warnings;
  const absl::StatusOr<TrainRequest> request =
      RequestFromContract([](const char* name) { return std::getenv(name); }, &warnings);
  if (!request.ok()) return process.Fail(request.status());
  return Train(process, *request, warnings);
}

int Main(int argc, char** argv) {
  // Long arrays are freed and allocated each round: freed memory is kept, because new pages cost more than
  // filling them.
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  const TrainerMain process("winnow-gbdt");
  if (!IsStartedByHand(argc, argv, ModelCommands::IsName)) return TrainUnderContract(process);
  CLI::App app(
      "Gradient-boosted trees with XGBoost's hyperparameters. Without --train, and with SM_HPS in the "
      "environment, it "
      "runs under the trainer contract.",
      "winnow-gbdt");
  app.set_version_flag("--version", "winnow-gbdt " WINNOW_VERSION);
  GbdtFlags flags;
  AddTrainFlags(&app, &flags);
  ModelCommands model_commands(&app);
  if (const std::optional<int> end = EndOfParsing(&app, argc, argv, process)) return *end;
  if (model_commands.asked()) {
    const absl::Status status = model_commands.Run();
    return status.ok() ? 0 : process.Fail(status);
  }
  if (const std::string problem = flags.common.Settle(); !problem.empty()) return process.Usage(problem);
  return TrainByFlags(process, flags);
}

}  // namespace
}  // namespace winnow::gbdt

int main(int argc, char** argv) { return winnow::gbdt::Main(argc, argv); }
