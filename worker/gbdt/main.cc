// winnow-gbdt: trains under the trainer contract or by flags, and predicts.

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "worker/collective/ranks_from_environment.h"
#include "worker/gbdt/contract.h"
#include "worker/gbdt/model_commands.h"
#include "worker/gbdt/model_file.h"
#include "worker/gbdt/trainer.h"
#include "worker/trainer/status_text.h"
#include "worker/trainer/whole_file.h"

namespace winnow {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

std::atomic<bool> told_to_stop{false};
// While the other ranks have not all come: what to end with at once when told to stop, for there is nothing
// to save. Else kNotWaiting.
constexpr int kNotWaiting = -1;
std::atomic<int> code_while_waiting{kNotWaiting};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void EndIfWaiting() {
  const int code = code_while_waiting;
  if (code == kNotWaiting) return;
  constexpr std::string_view kReason = "winnow-gbdt: told to stop before all ranks had come\n";
  if (code != 0) (void)!write(STDERR_FILENO, kReason.data(), kReason.size());
  _exit(code);
}

void Stop(int /*signal*/) {
  told_to_stop = true;
  EndIfWaiting();
}

int Fail(const absl::Status& status) {
  std::string text = MessageOf(status);
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  fmt::print(stderr, "winnow-gbdt: {}\n", text);
  return kFailure;
}

// What the command line asks for beyond a TrainRequest.
struct Flags {
  TrainRequest train;
  std::string hyperparameters_path;
  int threads = -1;
};

void AddReadingFlags(CLI::App* app, DataOptions* reading) {
  app->add_option("--label", reading->label, "Label column: its name, or its number from 0 without a header")
      ->default_str("the first column");
  app->add_option("--drop", reading->drop, "Columns to leave out, with commas between")->delimiter(',');
  app->add_option("--weight", reading->weight, "Column of row weights");
  app->add_option("--group", reading->group, "Column of query ids, for ranking; rows of one stand together");
  app->add_option("--format", reading->format, "auto, csv or libsvm")->capture_default_str();
  app->add_option("--header", reading->header, "auto, yes or no")->capture_default_str();
  app->add_option("--separator", reading->separator, "auto, or one of , ; | tab blank")
      ->transform(CLI::Transformer({{"tab", "\t"}, {"blank", " "}}));
  app->add_option("--max-levels", reading->max_levels, "Most levels of a text column")->capture_default_str();
}

void AddTrainFlags(CLI::App* app, Flags* flags) {
  TrainRequest& train = flags->train;
  app->add_option("--train", train.train_path, "File or folder to train on");
  app->add_option("--validation", train.validation_path, "File or folder to validate on");
  app->add_option("--validation-fraction", train.validation_fraction,
                  "Share of --train to validate on instead")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--split-seed", train.split_seed, "Seed of that split")->capture_default_str();
  app->add_option("--hyperparameters", flags->hyperparameters_path,
                  "JSON object of XGBoost's hyperparameters");
  app->add_option("--model-dir", train.model_folder, "Folder that gets model.json");
  app->add_option("--checkpoint-dir", train.checkpoint_folder,
                  "Folder to keep checkpoints in and go on from");
  app->add_option("--continue-from", train.continue_from,
                  "Model, of winnow-gbdt or XGBoost, that num_round more rounds are added to");
  app->add_flag("--sharded", train.train_sharded,
                "Each rank reads its own files of the folders --train and --validation; else all read all");
  app->add_option("--timing", train.timing_path,
                  "File that gets the seconds of set-up, of each round and of each evaluation, as JSON");
  app->add_option("--threads", flags->threads, "Threads; 0: as many as processors (default: nthread, else 1)")
      ->check(CLI::Range(0, 1024));
  AddReadingFlags(app, &train.train_reading);
}

// As the rank that the environment says this process is; alone where it says nothing.
int TrainAsRank(const TrainRequest& request, const std::vector<std::string>& warnings) {
  const auto environment = [](const char* name) { return std::getenv(name); };
  code_while_waiting = request.checkpoint_folder.empty() ? kFailure : 0;
  if (told_to_stop) EndIfWaiting();
  absl::StatusOr<std::unique_ptr<Communicator>> ranks = RanksFromEnvironment(environment);
  code_while_waiting = kNotWaiting;
  if (!ranks.ok()) return Fail(ranks.status());
  if ((*ranks)->rank() == 0) {
    for (const std::string& warning : warnings) fmt::print(stderr, "winnow-gbdt: {}\n", warning);
  }
  const absl::Status status = RunTraining(request, ranks->get(), told_to_stop, stdout, stderr);
  return status.ok() ? 0 : Fail(status);
}

int TrainAlone(Flags* flags) {
  TrainRequest& request = flags->train;
  std::string text = "{}";
  if (!flags->hyperparameters_path.empty()) {
    absl::StatusOr<std::string> read = ReadWholeFile(flags->hyperparameters_path);
    if (!read.ok()) return Fail(read.status());
    text = *std::move(read);
  }
  std::vector<std::string> warnings;
  absl::StatusOr<GbdtParameters> parameters = ParseHyperparameters(text, &warnings);
  if (!parameters.ok())
    return Fail(absl::InvalidArgumentError(
        fmt::format("{}: {}", flags->hyperparameters_path, MessageOf(parameters.status()))));
  request.parameters = *std::move(parameters);
  if (flags->threads >= 0) request.parameters.nthread = flags->threads;
  request.train_reading.categorical = request.parameters.enable_categorical;
  request.validation_reading = request.train_reading;
  request.validation_sharded = request.train_sharded;
  return TrainAsRank(request, warnings);
}

int TrainUnderContract() {
  std::vector<std::string> warnings;
  const absl::StatusOr<TrainRequest> request =
      RequestFromContract([](const char* name) { return std::getenv(name); }, &warnings);
  if (!request.ok()) return Fail(request.status());
  return TrainAsRank(*request, warnings);
}

int Usage(const std::string& problem) {
  fmt::print(stderr, "winnow-gbdt: {}; see winnow-gbdt --help\n", problem);
  return kUsage;
}

int Main(int argc, char** argv) {
  // Long arrays come and go each round: freed memory is kept, for pages cost more to get anew than to fill.
  constexpr int kKept = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, kKept);
  mallopt(M_TRIM_THRESHOLD, kKept);
  std::signal(SIGTERM, Stop);
  CLI::App app(
      "Gradient-boosted trees with XGBoost's hyperparameters. Without --train, and with SM_HPS in the "
      "environment, it "
      "runs under the trainer contract.",
      "winnow-gbdt");
  app.set_version_flag("--version", "winnow-gbdt " WINNOW_VERSION);
  Flags flags;
  AddTrainFlags(&app, &flags);
  ModelCommands model_commands(&app);

  // A worker passes each hyperparameter as an argument too; under the contract SM_HPS is what counts.
  bool has_train = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    has_train = has_train || argument == "--train" || argument.rfind("--train=", 0) == 0 ||
                ModelCommands::IsName(argument) || argument == "--help" || argument == "-h" ||
                argument == "--version";
  }
  if (!has_train && std::getenv("SM_HPS") != nullptr) return TrainUnderContract();

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return Usage(error.what());
  }
  if (model_commands.asked()) {
    const absl::Status status = model_commands.Run();
    return status.ok() ? 0 : Fail(status);
  }
  if (flags.train.train_path.empty()) return Usage("--train is required");
  if (flags.train.model_folder.empty()) return Usage("--model-dir is required");
  if (flags.train.validation_fraction > 0 && !flags.train.validation_path.empty())
    return Usage("--validation and --validation-fraction exclude each other");
  return TrainAlone(&flags);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
