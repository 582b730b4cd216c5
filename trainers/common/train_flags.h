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

// The flags of a trainer started by hand.
struct TrainFlags {
  TrainFiles files;
  std::string hyperparameters_path;                                // "": none
  int threads = -1;                                                // -1: as in the hyperparameters
  std::optional<std::string> validation_label, validation_weight;  // absent: as for --train

  // Adds the flags to `app`. REQUIRES: this object is not moved until `app` is parsed.
  void AddTo(CLI::App* app);
  // Adds --sharded and --timing, for a trainer whose levels are called `level`.
  void AddRunFlags(CLI::App* app, const char* level);

  // Called after parsing. Unset values of the validation data become those of the training data. Returns what
  // is missing or contradictory, as "--train is required"; "" if nothing.
  std::string Settle();

  // Returns the number of threads if the hyperparameters say `nthread`.
  int64_t ThreadsOr(int64_t nthread) const;

  // Returns the hyperparameters' text, "{}" if none are given. Errors name the file.
  absl::StatusOr<std::string> HyperparameterText() const;
  // Returns `problem` with the file of the hyperparameters before it.
  absl::Status OfHyperparameters(const absl::Status& problem) const;
};

// Parses the arguments. Returns an exit code if the process is done: --help or --version was answered, or the
// arguments are wrong, which the process then reports.
std::optional<int> EndOfParsing(CLI::App* app, int argc, char** argv, const TrainerMain& process);

// Whether a process with these arguments was started by hand: with --train, --help, --version or a name for
// which `is_command` is true. Otherwise, with SM_HPS in the environment, the trainer contract applies: a
// worker passes each hyperparameter as an argument too.
bool IsStartedByHand(int argc, char** argv, bool (*is_command)(std::string_view argument));

}  // namespace winnow
