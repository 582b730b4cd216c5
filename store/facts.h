#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/state/facts.h"
#include "store/database/database.h"

namespace winnow {

// A metric value reported by a trial.
struct ReportRow {
  TrialNumber trial = 0;
  int64_t attempt = 0;
  int64_t resource = 0;
  std::string metric;
  double value = 0;  // NaN is read back as the quiet NaN
  int64_t time_us = 0;
  int64_t sequence = 0;  // of its Reported fact; 0: the metric ranks no trials
  int64_t ranking = 0;   // Reported::metric
};

// The start of a page of reports: after this point, in the order trial, metric, resource.
struct ReportCursor {
  TrialNumber trial = 0;
  std::string metric;
  int64_t resource = 0;
};

// The facts of all jobs: the tables `events` and `reports`, merged by sequence.
class FactTable {
 public:
  explicit FactTable(Database& database);

  // REQUIRES: the fact is not Reported: those are reports with a sequence.
  absl::Status AppendEvent(int64_t job, const Fact& fact);
  // False: this trial, attempt, resource and metric were reported before; nothing is changed.
  absl::StatusOr<bool> AppendReport(int64_t job, const ReportRow& row);

  // At most `limit` facts above `after`, in order; limit = -1: all.
  absl::StatusOr<std::vector<Fact>> Load(int64_t job, int64_t after = 0, int64_t limit = -1);
  // Calls `take` for every fact in order, and stops at the first error it returns. Scans the tables in their
  // own order, so it is several times as fast as Load with many reports. `take` must not use this table.
  absl::Status ForEach(int64_t job, const std::function<absl::Status(const Fact&)>& take);
  // Returns the trials, rising, of the facts above `after`.
  absl::StatusOr<std::vector<TrialNumber>> ChangedTrials(int64_t job, int64_t after);
  // Calls `take` with trial, level and value of every report of the metric, by trial, attempt and level.
  absl::Status ForEachPoint(int64_t job, const std::string& metric,
                            const std::function<void(TrialNumber, int64_t, double)>& take);
  // ForEachPoint for one trial.
  absl::Status ForEachPointOf(int64_t job, const std::string& metric, TrialNumber trial,
                              const std::function<void(int64_t, double)>& take);
  // Returns the names of the metrics that the trial has reported.
  absl::StatusOr<std::vector<std::string>> MetricsOf(int64_t job, TrialNumber trial);
  // Returns the rung cuts above `after`, in order.
  absl::StatusOr<std::vector<Fact>> LoadCuts(int64_t job, int64_t after);
  // Returns the changes of ranges, in order.
  absl::StatusOr<std::vector<Fact>> LoadRangeChanges(int64_t job);
  // Returns what people said about keeping trials from being pruned, in order.
  absl::StatusOr<std::vector<Fact>> LoadKept(int64_t job);
  // Returns the facts of one trial.
  absl::StatusOr<std::vector<Fact>> LoadTrial(int64_t job, TrialNumber trial);

  // Returns a value reported by this attempt.
  absl::StatusOr<std::optional<ReportRow>> FindReport(int64_t job, TrialNumber trial, int64_t attempt,
                                                      int64_t resource, const std::string& metric);

  // Learning curves: at most `limit` points after `cursor`. A level reported by several attempts has the
  // first one's value. Empty filters: all trials, all metrics.
  absl::StatusOr<std::vector<ReportRow>> Query(int64_t job, const std::vector<TrialNumber>& trials,
                                               const std::vector<std::string>& metrics,
                                               const ReportCursor& cursor, int64_t limit);

 private:
  absl::StatusOr<std::vector<Fact>> ReadAll(Statement& statement);
  Database& database_;
  Statement event_, report_, load_, load_trial_, changed_events_, changed_reports_, cuts_, ranges_, kept_,
      points_, points_of_, metrics_of_, events_, reports_, find_report_, highest_report_, query_;

  // Whether a report is not there yet, for a database that would have to be waited for: asks it only where
  // the report is not above all that its attempt has reported of the metric. REQUIRES: nobody else writes.
  absl::StatusOr<bool> IsNew(int64_t job, const ReportRow& row);
  std::map<std::tuple<int64_t, TrialNumber, int64_t, std::string>, int64_t> highest_;
  int64_t rollbacks_ = 0;  // of the database, when highest_ was right
};

}  // namespace winnow
