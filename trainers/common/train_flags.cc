#include "trainers/common/train_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/data_url.h"
#include "base/status_text.h"
#include "flags/command_line.h"
#include "trainers/common/whole_file.h"

namespace winnow {
namespace {

void AddReadingFlags(CLI::App* app, DataOptions* reading) {
  app->add_option("--label", reading->label, "Label column: its name, or its number from 0 without a header")
      ->type_name("COLUMN")
      ->default_str("the first column");
  app->add_option("--drop", reading->drop, "Columns to ignore, separated by commas")
      ->type_name("COLUMN")
      ->delimiter(',');
  app->add_option("--weight", reading->weight, "Column of row weights")->type_name("COLUMN");
  app->add_option("--header", reading->header, "auto, yes or no")->capture_default_str();
  app->add_option("--separator", reading->separator, "auto, or one of , ; | tab blank (default: auto)")
      ->transform(CLI::Transformer({{"tab", "\t"}, {"blank", " "}}))
      ->option_text("TEXT");
  app->add_option("--max-levels", reading->max_levels, "Maximum number of levels of a text column")
      ->capture_default_str();
}

}  // namespace

void TrainFlags::AddTo(CLI::App* app) {
  app->add_option("--train", files.train_path, "Training data, a file or directory; required")
      ->type_name("PATH");
  app->add_option("--validation", files.validation_path, "Validation data, a file or directory")
      ->type_name("PATH");
  app->add_option("--validation-fraction", files.validation_fraction,
                  "Fraction of --train to validate on instead")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--split-seed", files.split_seed, "Seed of that split")
      ->check(CLI::NonNegativeNumber)
      ->option_text("UINT=0");
  app->add_option("--hyperparameters", hyperparameters_path, "File of hyperparameters, a JSON object")
      ->type_name("FILE");
  app->add_option("--model-dir", files.model_folder, "Directory for the model; required")->type_name("DIR");
  app->add_option("--checkpoint-dir", files.checkpoint_folder,
                  "Directory to save checkpoints in and resume from")
      ->type_name("DIR");
  app->add_option("--threads", threads, "Threads; 0: number of CPUs (default: nthread, else 1)")
      ->check(CLI::Range(0, 1024));
  AddReadingFlags(app, &files.train_reading);
  app->add_option("--validation-label", validation_label, "Label column of --validation")
      ->type_name("COLUMN")
      ->default_str("as --label");
  app->add_option("--validation-weight", validation_weight,
                  "Column of row weights of --validation; \"\": each row counts once")
      ->type_name("COLUMN")
      ->default_str("as --weight");
}

void TrainFlags::AddRunFlags(CLI::App* app, const char* level) {
  app->add_flag("--sharded", files.train_sharded,
                "Each rank reads only its own files of the directories --train and --validation");
  app->add_option("--timing", files.timing_path,
                  fmt::format("JSON file for the times of set-up, each {} and each evaluation", level))
      ->type_name("FILE");
}

std::string TrainFlags::Settle() {
  if (files.train_path.empty()) return "--train is required";
  for (const auto& [flag, path] :
       {std::pair("--train", files.train_path), std::pair("--validation", files.validation_path)}) {
    if (HasScheme(path))
      return fmt::format("{}: {} is a URL; expected a file or directory: only jobs download their data", flag,
                         ShownUrl(path));
  }
  if (files.model_folder.empty()) return "--model-dir is required";
  if (std::isnan(files.validation_fraction))
    return "--validation-fraction is nan; expected a number from 0 to 1";
  if (files.validation_fraction > 0 && !files.validation_path.empty())
    return "--validation and --validation-fraction exclude each other";
  if (files.validation_path.empty() && (validation_label || validation_weight))
    return fmt::format("--validation-{} is given; expected --validation too",
                       validation_label ? "label" : "weight");
  DataOptions& of_validation = files.validation_reading;
  of_validation = files.train_reading;
  if (validation_label) of_validation.label = *validation_label;
  if (validation_weight && validation_weight->empty()) of_validation.training_weight = of_validation.weight;
  if (validation_weight) of_validation.weight = *validation_weight;
  if (validation_label || validation_weight) UseOwnColumns(&of_validation);
  files.validation_sharded = files.train_sharded;
  return "";
}

int64_t TrainFlags::ThreadsOr(int64_t nthread) const {
  if (threads < 0) return nthread;
  return threads > 0 ? threads : std::max(1u, std::thread::hardware_concurrency());
}

absl::StatusOr<std::string> TrainFlags::HyperparameterText() const {
  if (hyperparameters_path.empty()) return "{}";
  return ReadWholeFile(hyperparameters_path);
}

absl::Status TrainFlags::OfHyperparameters(const absl::Status& problem) const {
  return absl::InvalidArgumentError(fmt::format("{}: {}", hyperparameters_path, MessageOf(problem)));
}

std::optional<int> EndOfParsing(CLI::App* app, int argc, char** argv, const TrainerMain& process) {
  const CommandLine line = ReadCommandLine(*app, argc, argv);
  if (line.exit_code) return line.exit_code;
  if (!line.problem.empty()) return process.Usage(line.problem);
  return std::nullopt;
}

bool IsStartedByHand(int argc, char** argv, bool (*is_command)(std::string_view argument)) {
  if (std::getenv("SM_HPS") == nullptr) return true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--train" || argument.starts_with("--train=") || argument == "--help" ||
        argument == "-h" || argument == "--version" || is_command(argument))
      return true;
  }
  return false;
}

}  // namespace winnow
