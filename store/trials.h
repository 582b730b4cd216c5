#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/state/job_state.h"
#include "store/database/database.h"

namespace winnow {

// The state of one trial according to its facts, as a row for queries.
struct TrialRow {
  TrialNumber number = 0;
  std::string state;  // pending, running, paused, completed, pruned, failed, cancelled
  std::string reason;
  Configuration configuration;
  std::optional<double> objective;  // the newest; absent: none, or NaN
  int64_t resource = 0;
  std::optional<double> best_objective;
  int64_t best_resource = 0;
  std::optional<double> value;  // the trial's value (TrialState::value)
  int64_t value_resource = 0;
  // The newest values of the metrics that rank trials (SearchSpec::RankingMetrics); empty where that is one.
  std::vector<std::optional<double>> metrics;
  double violation = 0;  // TrialState::violation
  int64_t bracket = -1;
  int64_t rung = 0;
  int64_t attempts = 0;
  int64_t create_us = 0;
  int64_t start_us = 0;  // 0: not yet
  int64_t end_us = 0;
  int64_t training_us = 0;
  int64_t trained_resource = 0;

  bool operator==(const TrialRow&) const = default;
};

TrialRow MakeTrialRow(const TrialState& trial);
std::string_view PhaseName(TrialPhase phase);
// Absent: no such state.
std::optional<TrialPhase> PhaseOf(std::string_view name);

enum class TrialColumn { kNumber, kObjective, kResource, kTrainingTime, kHyperparameter };

struct TrialQuery {
  std::vector<std::string> states;  // empty: all
  TrialColumn order = TrialColumn::kNumber;
  int parameter = 0;  // for kHyperparameter: its index in the spec
  bool descending = false;
  int64_t offset = 0;
  int64_t limit = -1;  // -1: all
  // For kObjective: completed trials precede the others, or follow them in a worst-first order.
  enum class Completed { kAnywhere, kFirst, kLast } completed = Completed::kAnywhere;
  std::vector<std::string> tags = {};  // trials that have all of these; empty: all
  TrialNumber after = 0;               // only trials of higher numbers
};

class TrialTable {
 public:
  explicit TrialTable(Database& database);

  // Inserts or replaces.
  absl::Status Put(int64_t job, const TrialRow& row);
  // Rows without a value in the ordering column are last; ties by number.
  absl::StatusOr<std::vector<TrialRow>> List(int64_t job, const TrialQuery& query);
  // Trials that pass the query's states and tags.
  absl::StatusOr<int64_t> Count(int64_t job, const TrialQuery& query);
  absl::StatusOr<std::optional<TrialRow>> Find(int64_t job, TrialNumber number);
  // Calls `take` for every trial by rising number, and stops at the first error it returns. `take` must not
  // use this table.
  absl::Status ForEach(int64_t job, const std::function<absl::Status(const TrialRow&)>& take);
  // "" if there is no such trial.
  absl::StatusOr<std::string> Reason(int64_t job, TrialNumber number);
  // As JobState::best_trial; 0: none.
  absl::StatusOr<TrialNumber> Best(int64_t job, const SearchSpec& spec);

 private:
  Database& database_;
  Statement put_, count_, find_, all_, reason_;
};

}  // namespace winnow
