#include "trainers/common/training_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "trainers/common/fork_server.h"
#include "trainers/common/low_priority.h"
#include "trainers/common/whole_file.h"

namespace winnow {
namespace {

// Prints and flushes the metrics of a level in XGBoost's form, "[12]\ttrain-auc:0.81\tvalidation-auc:0.78".
// REQUIRES: as many values as names.
void PrintMetricLine(std::FILE* out, int64_t level, std::span<const std::string> names,
                     std::span<const float> values) {
  fmt::memory_buffer line;
  fmt::format_to(std::back_inserter(line), "[{}]", level);
  for (std::size_t m = 0; m < names.size(); ++m)
    fmt::format_to(std::back_inserter(line), "\t{}:{}", names[m], values[m]);
  line.push_back('\n');
  std::fwrite(line.data(), 1, line.size(), out);
  std::fflush(out);
}

constexpr std::chrono::seconds kCheckpointEvery{2};

// Not OK if the directory cannot be made or written to.
absl::Status MakeModelFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::string problem;
  if (error)
    problem = "cannot be made: " + error.message();
  else if (access(folder.c_str(), W_OK | X_OK) != 0)
    problem = fmt::format("cannot be written to: {}", std::generic_category().message(errno));
  if (problem.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("model directory {} {}; expected one that can be made and written to", folder, problem));
}

}  // namespace

absl::Status TrainingRun::Run() {
  absl::Status status = AgreeOnRequest(Told(), &ranks_);
  if (status.ok() && is_first() && !files_.model_folder.empty())
    status = MakeModelFolder(files_.model_folder);
  if (status.ok()) status = LoadAndTrain();
  uint64_t word = 0;
  if (status.ok()) status = ranks_.AllReduceMax({&word, 1});  // ends when rank 0 has written
  if (!status.ok()) ranks_.Fail(status);
  return status;
}

int64_t TrainingRun::UpToResource(int64_t levels) const {
  return resource_to_ > 0 ? std::min(levels, resource_to_) : levels;
}

void TrainingRun::Warn(const std::string& text) const {
  if (is_first()) fmt::print(err_, "{}: {}\n", program_, text);
}

void TrainingRun::WarnOfMisfit(const std::string& problem) const {
  Warn(fmt::format("the checkpoint in {} {}: training starts from scratch", files_.checkpoint_folder,
                   problem));
}

void TrainingRun::Print(int64_t level) const {
  if (is_first()) PrintMetricLine(out_, level, metric_names(), ValuesAt(level));
}

void TrainingRun::PrintUnreported(int64_t first) const {
  const int64_t known = std::min(done(), target());
  for (int64_t level = std::max(files_.resource_from, first); level < known; ++level) Print(level);
}

void TrainingRun::WarnOfUndefined() const {
  const std::vector<float> values = ValuesAt(done() - 1);
  for (std::size_t m = 0; m < values.size(); ++m) {
    const bool ranks_classes = metric_names()[m].find("-auc") != std::string::npos;
    if (ranks_classes && std::isnan(values[m]))
      Warn(fmt::format("{} is nan: some class has no rows", metric_names()[m]));
  }
}

bool TrainingRun::IsPause() {
  if (!control_.is_open() || stop_ || ranks_.size() > 1 || files_.checkpoint_folder.empty() || !MayWait())
    return false;
  if (resource_to_ == 0 || done() != resource_to_) return false;
  const int64_t part_end = std::exchange(resource_to_, 0);
  const bool has_more = !is_finished();
  resource_to_ = part_end;
  return has_more;
}

absl::Status TrainingRun::TrainLevels(const std::function<absl::Status()>& train_level) {
  if (!AwaitTurn()) return absl::CancelledError("told to end before the first level");
  absl::Status status = TrainPart(train_level);
  while (status.ok() && IsPause()) {
    late_sync_.Begin();
    const std::optional<int64_t> level = control_.Wait(done());
    ended_waiting_ = !level || stop_;
    if (ended_waiting_) break;
    resource_to_ = *level;
    status = TrainPart(train_level);
  }
  late_sync_.Begin();  // what was saved for a wait that a stop has prevented
  const absl::Status kept = late_sync_.Await();
  if (!status.ok() || !kept.ok()) return status.ok() ? kept : status;
  // A program that has waited has done everything, unless it measures itself. Destructors and exit handlers
  // would only copy the memory that it shares with the process that it was forked from.
  if (ended_waiting_ && files_.timing_path.empty() && std::fflush(out_) == 0 && std::ferror(out_) == 0)
    _exit(EXIT_SUCCESS);
  return status;
}

absl::Status TrainingRun::TrainPart(const std::function<absl::Status()>& train_level) {
  const int64_t first = done();
  int64_t saved = first;
  Clock::time_point saved_at = Clock::now();
  const auto save = [&] {
    saved_at = Clock::now();
    if (files_.checkpoint_folder.empty() || !is_first() || done() == saved) return absl::OkStatus();
    saved = done();
    return WriteCheckpoint(begun_with_);
  };
  while (!is_finished()) {
    const absl::StatusOr<bool> stops = AnyoneStops(stop_, &ranks_);
    if (!stops.ok()) return stops.status();
    if (*stops) break;
    const absl::Status status = train_level();
    if (absl::IsCancelled(status)) break;
    if (!status.ok()) return status;
    Print(done() - 1);
    if (done() == first + 1) WarnOfUndefined();
    StopEarlyIfDue();
    if (Clock::now() - saved_at < kCheckpointEvery) continue;
    if (absl::Status written = save(); !written.ok()) return written;
  }
  const bool pauses = IsPause();
  const auto save_part = [&] {
    if (!pauses) return save();
    const LateSync::Scope beside(&late_sync_);
    absl::Status written = save();
    return written.ok() ? Finish() : written;
  };
  // The next part may use the slot while this one saves.
  const bool gives_slot =
      control_.is_open() && !stop_ && ranks_.size() == 1 && resource_to_ > 0 && done() == resource_to_;
  if (gives_slot) control_.Saves(done());
  if (absl::Status kept = late_sync_.SoFar(); !kept.ok()) return kept;
  return gives_slot ? AtLowPriority(save_part) : save_part();
}

absl::Status TrainingRun::Finish() {
  if (ended_waiting_) return absl::OkStatus();
  if (is_finished()) {
    if (files_.model_folder.empty() || !is_first()) return absl::OkStatus();
    if (files_.checkpoint_folder.empty() || !IsOvertaken(files_.checkpoint_folder, done(), begun_with_))
      return WriteModel();
    Warn(fmt::format("another process has a later checkpoint in {}: the model is left to it",
                     files_.checkpoint_folder));
    return absl::OkStatus();
  }
  if (!files_.checkpoint_folder.empty()) return absl::OkStatus();
  return absl::CancelledError(
      fmt::format("told to stop after {} of {} {}s, and without a checkpoint folder nothing is kept", done(),
                  target(), level_));
}

absl::Status TrainingRun::WriteTiming(nlohmann::json more) const {
  if (files_.timing_path.empty()) return absl::OkStatus();
  more["setup_seconds"] = timing_.setup;
  more[fmt::format("{}_seconds", level_)] = timing_.levels;
  more["evaluate_seconds"] = timing_.evaluations;
  more["bytes_sent"] = timing_.bytes_sent;
  return WriteFileWhole(files_.timing_path, more.dump() + "\n");
}

std::string OriginMisfit(const Declaration& declaration, ToldThings theirs, ToldThings ours) {
  for (ToldThings* told : {&theirs, &ours}) {
    std::erase_if(*told, [&declaration](const auto& entry) {
      const Hyperparameter* known = declaration.Find(entry.first);
      return known != nullptr && known->may_change;
    });
  }
  return HyperparameterMisfit(theirs, ours);
}

std::string HyperparameterMisfit(const ToldThings& theirs, const ToldThings& ours) {
  for (const auto& [name, value] : ours) {
    const auto found = std::find_if(theirs.begin(), theirs.end(),
                                    [&wanted = name](const auto& entry) { return entry.first == wanted; });
    if (found == theirs.end()) return fmt::format("was made with no {}, not {}", name, value);
    if (found->second != value)
      return fmt::format("was made with {} = {}, not {}", name, found->second, value);
  }
  return "";
}

}  // namespace winnow
