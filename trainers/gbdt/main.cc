// winnow-gbdt: trains under the trainer contract or by flags, and predicts.

#include <malloc.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "trainers/common/contract.h"
#include "trainers/common/train_flags.h"
#include "trainers/common/trainer_program.h"
#include "trainers/gbdt/model_commands.h"
#include "trainers/gbdt/trainer.h"
#include "trainers/gbdt/training_input.h"

namespace winnow::gbdt {
namespace {

struct Trainer {
  static constexpr char name[] = "winnow-gbdt";
  static constexpr char version[] = "winnow-gbdt " WINNOW_VERSION;
  static constexpr char description[] =
      "Gradient-boosted trees with XGBoost's hyperparameters. Without --train, and with SM_HPS in the "
      "environment, it runs under the trainer contract.";
  using ModelCommands = gbdt::ModelCommands;
  static constexpr auto RunTraining = gbdt::RunTraining;

  // Flags beyond those of every trainer.
  struct Flags {
    TrainFlags common;
    std::string continue_from;
  };

  static void AddTrainFlags(CLI::App* app, Flags* flags) {
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

  static TrainRequest WithCategories(TrainRequest request) {
    for (DataOptions* reading : {&request.train_reading, &request.validation_reading})
      reading->categorical |= request.parameters.enable_categorical;
    return request;
  }

  static absl::StatusOr<TrainRequest> RequestFromFlags(const Flags& flags,
                                                       std::vector<std::string>* warnings) {
    const absl::StatusOr<std::string> text = flags.common.HyperparameterText();
    if (!text.ok()) return text.status();
    absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(*text, warnings);
    if (!parameters.ok()) return flags.common.OfHyperparameters(parameters.status());
    parameters->nthread = flags.common.ThreadsOr(parameters->nthread);
    return WithCategories({flags.common.files, *std::move(parameters), flags.continue_from});
  }

  static absl::StatusOr<TrainRequest> RequestFromEnvironment(const EnvironmentReader& environment,
                                                             std::vector<std::string>* warnings) {
    absl::StatusOr<TrainRequest> request = RequestFromContract<TrainRequest>(
        environment, ParseHyperparameters(ValueOf(environment, "SM_HPS"), warnings));
    if (!request.ok()) return request;
    return WithCategories(*std::move(request));
  }

  static void Prepare() {
    std::vector<std::string> ignored;
    const absl::StatusOr<TrainRequest> request = RequestFromEnvironment(EnvironmentOfParent, &ignored);
    if (request.ok() && request->continue_from.empty()) PrepareTrainingData(*request);
  }
};

}  // namespace
}  // namespace winnow::gbdt

int main(int argc, char** argv) {
  // Long arrays are freed and allocated each round: freed memory is kept, because new pages cost more than
  // filling them.
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  return winnow::TrainerProgram<winnow::gbdt::Trainer>(argc, argv);
}
