#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/common/program.h"
#include "trainers/common/train_files.h"

namespace CLI {
class App;
}

namespace winnow {

// What a trainer that is run by hand is told by flags.
struct TrainFlags {
  TrainFiles files;
  std::string hyperparameters_path;                                // "": none
  int threads = -1;                                                // -1: as the hyperparameters say
  std::optional<std::string> validation_label, validation_weight;  // absent: as of --train

  // Adds the flags to `app`. REQUIRES: `app` is parsed while this object is at its place.
  void AddTo(CLI::App* app);
  // --sharded and --timing, of a trainer whose levels are called `level`.
  void AddRunFlags(CLI::App* app, const char* level);

  // After parsing: what is missing or does not go together, as "--train is required"; "" if nothing. What is
  // not said of the validation data becomes as of the training data.
  std::string Settle();

  // Threads to use where the hyperparameters say `nthread`.
  int64_t ThreadsOr(int64_t nthread) const;

  // The hyperparameters' text, "{}" where none are given. Errors name the file.
  absl::StatusOr<std::string> HyperparameterText() const;
  // `problem` with the file of the hyperparameters before it.
  absl::Status OfHyperparameters(const absl::Status& problem) const;
};

// Parses the arguments; an exit code where that is all there is to do: --help and --version were answered, or
// the arguments are wrong, which the process then says.
std::optional<int> EndOfParsing(CLI::App* app, int argc, char** argv, const TrainerMain& process);

// Whether a process with these arguments was started by hand: with --train, --help, --version or a name for
// which `is_command` is true. Else, with SM_HPS in the environment, the trainer contract counts: a worker
// passes each hyperparameter as an argument too.
bool IsStartedByHand(int argc, char** argv, bool (*is_command)(std::string_view argument));

}  // namespace winnow
