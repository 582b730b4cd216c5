// winnow-gbdt: trains under the trainer contract or by flags, and predicts.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/standard_streams.h"
#include "trainers/common/contract.h"
#include "trainers/common/fork_server.h"
#include "trainers/common/program.h"
#include "trainers/common/train_flags.h"
#include "trainers/gbdt/model_commands.h"
#include "trainers/gbdt/trainer.h"
#include "trainers/gbdt/training_input.h"

namespace winnow::gbdt {
namespace {

// Flags beyond those of every trainer.
struct Flags {
  TrainFlags common;
  std::string continue_from;
};

void AddTrainFlags(CLI::App* app, Flags* flags) {
  TrainFiles& files = flags->common.files;
  flags->common.AddTo(app);
  app->add_option("--group", files.train_reading.group,
                  "Column of query ids, for ranking; rows of a query must be contiguous")
      ->type_name("COLUMN");
  app->add_option("--format", files.train_reading.format, "auto, csv or libsvm")->capture_default_str();
  app->add_option("--continue-from", flags->continue_from,
                  "Model of winnow-gbdt or XGBoost to continue with num_round more rounds")
      ->type_name("FILE");
  flags->common.AddRunFlags(app, "round");
}

TrainRequest WithCategories(TrainRequest request) {
  for (DataOptions* reading : {&request.train_reading, &request.validation_reading})
    reading->categorical |= request.parameters.enable_categorical;
  return request;
}

absl::StatusOr<TrainRequest> RequestFromFlags(const Flags& flags, std::vector<std::string>* warnings) {
  const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
  if (!text.ok()) return text.status();
  absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(*text, warnings);
  if (!parameters.ok()) return flags.common.OfHyperparameters(parameters.status());
  parameters->nthread = flags.common.ThreadsOr(parameters->nthread);
  return WithCategories({flags.common.files, *std::move(parameters), flags.continue_from});
}

absl::StatusOr<TrainRequest> RequestFromEnvironment(const EnvironmentReader& environment,
                                                    std::vector<std::string>* warnings) {
  absl::StatusOr<TrainRequest> request = RequestFromContract<TrainRequest>(
      environment, ParseHyperparameters(ValueOf(environment, "SM_HPS"), warnings));
  if (!request.ok()) return request;
  return WithCategories(*std::move(request));
}

void Prepare() {
  std::vector<std::string> ignored;
  const absl::StatusOr<TrainRequest> request = RequestFromEnvironment(EnvironmentOfParent, &ignored);
  if (request.ok() && request->continue_from.empty()) PrepareTrainingData(*request);
}

int Main(int argc, char** argv) {
  // Long arrays are freed and allocated each round: freed memory is kept, because new pages cost more than
  // filling them.
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  if (const std::optional<int> end = ServeForks(Prepare)) return *end;
  const TrainerMain process("winnow-gbdt");
  std::vector<std::string> warnings;
  if (!IsStartedByHand(argc, argv, ModelCommands::IsName))
    return process.Train(RequestFromEnvironment(OwnEnvironmentValue, &warnings), warnings, RunTraining);
  CLI::App app(
      "Gradient-boosted trees with XGBoost's hyperparameters. Without --train, and with SM_HPS in the "
      "environment, it "
      "runs under the trainer contract.",
      "winnow-gbdt");
  app.set_version_flag("--version", "winnow-gbdt " WINNOW_VERSION);
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
}  // namespace winnow::gbdt

int main(int argc, char** argv) {
  winnow::OpenStandardStreams();
  return winnow::gbdt::Main(argc, argv);
}
