#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/attempt_end.h"
#include "scheduler/space/types.h"
#include "store/database/database.h"

namespace winnow {

// How the program of a rank started.
enum class PartStart { kUnknown, kNewProcess, kForked, kContinued };

struct AssignmentRow {
  int64_t key = 0;
  std::string id;  // the fencing token; never used twice
  int64_t job = 0;
  TrialNumber trial = 0;
  int64_t attempt = 0;
  int32_t rank = 0;
  std::string worker;
  int32_t port = 0;
  int64_t resource_from = 0;
  int64_t resource_to = 0;
  RankState state = RankState::kWanted;
  std::optional<AttemptOutcome> outcome;  // once gone
  std::string reason;                     // of its end; while it is kDrained, of that
  int64_t place_us = 0;
  int64_t start_us = 0;  // of the process; 0: it never ran
  int64_t end_us = 0;
  int32_t slots = 1;  // slots it uses on its worker
  double cpus = 0;
  double memory_gib = 0;
  std::vector<std::string> gpus = {};  // ids of the devices that it has on its worker
  double gpu_share = 0;                // part of its one device; 0: all of each
  RankPhase phase = RankPhase::kStarted;
  FailureCause cause = FailureCause::kTrainer;  // of a failure
  PartStart part_start = PartStart::kUnknown;   // once it has ended
};

// The text in the table: "wanted", "revoked" and so on.
const char* TextOf(RankState state);

class AssignmentTable {
 public:
  explicit AssignmentTable(Database& database);

  // Returns the key.
  absl::StatusOr<int64_t> Insert(const AssignmentRow& row);
  // Writes port, state, outcome, reason, start_us, end_us, phase, cause and part_start.
  absl::Status Update(const AssignmentRow& row);
  // Every rank of each attempt with a rank that is not gone yet; by job, trial, attempt and rank.
  absl::StatusOr<std::vector<AssignmentRow>> Held();
  absl::StatusOr<std::vector<AssignmentRow>> OfTrial(int64_t job, TrialNumber trial);
  // Rank 0 of each trial's newest attempt.
  absl::StatusOr<std::vector<AssignmentRow>> NewestOfJob(int64_t job);
  absl::StatusOr<std::optional<AssignmentRow>> Find(const std::string& id);

 private:
  absl::StatusOr<std::vector<AssignmentRow>> All(Statement& statement);
  Database& database_;
  Statement insert_, update_, held_, of_trial_, newest_, find_;
};

}  // namespace winnow
