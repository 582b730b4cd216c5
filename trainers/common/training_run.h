#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/agreement.h"
#include "trainers/common/checkpoint_folder.h"
#include "trainers/common/control.h"
#include "trainers/common/train_files.h"
#include "trainers/common/whole_file.h"
#include "trainers/hyperparameters/declaration.h"

namespace winnow {

// One rank's training run: the work of every built-in trainer around its levels (rounds or epochs, numbered
// from 0). A trainer derives from it, keeps the state and trains one level. Rank 0 prints, warns and writes;
// all ranks make the same calls.
class TrainingRun {
 public:
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;
  virtual ~TrainingRun() = default;

  // Trains. No rank returns OK before rank 0 has written the results; a rank that fails reports the reason to
  // the others.
  absl::Status Run();

 protected:
  using Clock = std::chrono::steady_clock;

  // program: "winnow-gbdt"; level: the name of a level, "round". REQUIRES: all arguments outlive the run.
  TrainingRun(const char* program, const char* level, const TrainFiles& files, Communicator* ranks,
              const std::atomic<bool>& stop, std::FILE* out, std::FILE* err)
      : files_(files),
        ranks_(*ranks),
        out_(out),
        err_(err),
        resource_to_(files.resource_to),
        program_(program),
        level_(level),
        stop_(stop) {}

  // Values that must be the same on all ranks.
  virtual ToldThings Told() const = 0;
  virtual absl::Status LoadAndTrain() = 0;

  // The state. done: levels trained, including earlier runs; target: levels to train.
  virtual int64_t done() const = 0;
  virtual int64_t target() const = 0;
  virtual bool stopped_early() const = 0;
  virtual const std::vector<std::string>& metric_names() const = 0;
  virtual std::vector<float> ValuesAt(int64_t level) const = 0;  // of the metrics

  // Sets stopped_early if the metrics require it.
  virtual void StopEarlyIfDue() = 0;
  // Whether the run may train on in this process after a part of it has ended.
  virtual bool MayWait() const { return true; }
  // Called on rank 0, if there is a folder for checkpoints. Begun with: for WriteCheckpointFile.
  virtual absl::Status WriteCheckpoint(const std::set<std::string>& begun_with) = 0;
  virtual absl::Status WriteModel() = 0;

  bool is_first() const { return ranks_.rank() == 0; }
  bool is_finished() const { return stopped_early() || done() >= target(); }
  // Returns `levels`, limited to what this run may train.
  int64_t UpToResource(int64_t levels) const;

  void Warn(const std::string& text) const;
  // Warns that training starts from nothing, because the checkpoint "was made with eta = 1, not 2".
  void WarnOfMisfit(const std::string& problem) const;

  // Returns the newest checkpoint of rank 0's folder, on all ranks: nullopt without a folder or a checkpoint,
  // or if misfit(checkpoint) returns a reason, for WarnOfMisfit, why training cannot continue from it.
  template <typename Checkpoint>
  absl::StatusOr<std::optional<Checkpoint>> FindCheckpoint(
      absl::StatusOr<Checkpoint> (*read_newest)(const std::string& folder,
                                                std::vector<std::string>* warnings),
      std::string (*text_of)(const Checkpoint& checkpoint),
      absl::StatusOr<Checkpoint> (*parse)(std::string_view text),
      const std::function<std::string(const Checkpoint& checkpoint)>& misfit);

  // Prints the metrics of levels after resource_from, from `first` on, that are only in a checkpoint, because
  // their process died before they were reported.
  void PrintUnreported(int64_t first = 0) const;

  // Waits for its turn (AwaitTurn). Then calls train_level until the run is finished or a rank has to stop;
  // prints each level, stops early, and writes a checkpoint every other second and at the end. A single rank
  // under a worker that keeps waiting trainers then writes the model as Finish does, waits, and trains on
  // when it is told to. While another program may use its slot, it saves at a low priority. train_level also
  // evaluates and records the level; it is Cancelled if it abandoned the level because of a stop.
  absl::Status TrainLevels(const std::function<absl::Status()>& train_level);

  // Writes the model if the run is finished, and another process has not got further (IsOvertaken). Cancelled
  // if it is not finished, and there is no folder for checkpoints.
  absl::Status Finish();

  // Writes the times as JSON, with `more`, if they are requested.
  absl::Status WriteTiming(nlohmann::json more = nlohmann::json::object()) const;

  static double SecondsSince(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  const TrainFiles& files_;
  Communicator& ranks_;
  std::FILE* const out_;
  std::FILE* const err_;
  const Clock::time_point started_ = Clock::now();
  struct {
    double setup = 0;                         // seconds from the start of the run to the first level
    std::vector<double> levels, evaluations;  // seconds
    uint64_t bytes_sent = 0;
  } timing_;

 private:
  absl::Status TrainPart(const std::function<absl::Status()>& train_level);
  // Whether more levels could follow the part that has ended, in this process.
  bool IsPause();
  void Print(int64_t level) const;
  void WarnOfUndefined() const;

  int64_t resource_to_;  // as files_.resource_to, of the part that is trained now
  const char* const program_;
  const char* const level_;
  const std::atomic<bool>& stop_;
  Control control_;
  LateSync late_sync_;  // of what is saved before a wait
  // It was told to end while it waited: all is written, and the files may be another process's by now.
  bool ended_waiting_ = false;
  std::set<std::string> begun_with_;  // of the folder's checkpoints, when FindCheckpoint was called
};

// Returns "was made with eta = 1, not 2" for a checkpoint with other hyperparameters; "" if all of `ours` are
// equal.
std::string HyperparameterMisfit(const ToldThings& theirs, const ToldThings& ours);
// The same, but those that may change while a model is trained may differ: the checkpoint is of another
// trial, from which this one goes on.
std::string OriginMisfit(const Declaration& declaration, ToldThings theirs, ToldThings ours);

template <typename Checkpoint>
absl::StatusOr<std::optional<Checkpoint>> TrainingRun::FindCheckpoint(
    absl::StatusOr<Checkpoint> (*read_newest)(const std::string& folder, std::vector<std::string>* warnings),
    std::string (*text_of)(const Checkpoint& checkpoint),
    absl::StatusOr<Checkpoint> (*parse)(std::string_view text),
    const std::function<std::string(const Checkpoint& checkpoint)>& misfit) {
  std::optional<Checkpoint> found;
  if (is_first() && !files_.checkpoint_folder.empty()) {
    begun_with_ = CheckpointsIn(files_.checkpoint_folder);
    std::vector<std::string> warnings;
    absl::StatusOr<Checkpoint> newest = read_newest(files_.checkpoint_folder, &warnings);
    for (const std::string& warning : warnings) Warn(warning);
    const std::string problem = newest.ok() ? misfit(*newest) : "";
    if (!newest.ok() && !warnings.empty()) Warn("training starts from scratch");
    if (!problem.empty()) WarnOfMisfit(problem);
    if (newest.ok() && problem.empty()) found = *std::move(newest);
  }
  std::string text;
  if (found && ranks_.size() > 1) text = text_of(*found);
  if (absl::Status status = ranks_.Broadcast(0, &text); !status.ok()) return status;
  if (is_first() || text.empty()) return found;
  absl::StatusOr<Checkpoint> theirs = parse(text);
  if (!theirs.ok()) return theirs.status();
  return *std::move(theirs);
}

}  // namespace winnow
