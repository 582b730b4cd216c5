#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "scheduler/fair_share.h"
#include "scheduler/placement.h"
#include "scheduler/reservation.h"
#include "scheduler/state/job_state.h"
#include "server/engine/answers/requester.h"
#include "server/engine/best_tracker.h"
#include "server/engine/context.h"
#include "server/engine/warm_start.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// A job that has not ended: the state that its facts give, and which of its rows are to be written.
struct OpenJob {
  OpenJob(JobRow the_row, v1::TuningJobSpec the_spec);

  JobRow row;
  v1::TuningJobSpec spec;
  const SearchSpec submitted;  // of the spec; that of `state` has the limits that were changed
  JobState state;
  std::set<TrialNumber> touched;    // trials whose rows are to be written at the end of the batch
  bool changed = false;             // the job's row is to be written too
  const std::string source_digest;  // "": the job has no source
  const RankShape shape;            // what each rank of its trials takes
  Reservation reserved;             // workers that are reserved for its gang; see Dispatch
  bool awaits_suggestion = false;   // its search model was asked and has not answered yet
  bool asked = false;               // its search model was asked since the server started
  std::vector<Fact> unasked;        // its newest facts, since its search model was asked; see Question
  int64_t newest_end = 0;           // sequence of its newest AttemptEnded
  std::map<int64_t, std::string> bracket_ends;  // why weak brackets were ended, by index
  BestTracker best;
  std::vector<BestStep> steps;  // of its best value: to be written at the end of the batch
  bool ran = false;             // a rank of it has run since the server started
  int64_t part_us = 0;          // mean time of its newest parts, since the server started; 0: not known
  int64_t quick_us = 0;         // the same of those that took no longer than that
  int64_t unprepared = 0;       // failures to prepare a rank of it, while none had run
  int64_t live_started_us = 0;  // sum over live ranks of when they were placed, since the job was created

  bool external() const { return spec.trainer().external(); }
  // Counts the trial's live attempt in live_started_us, or (-1) takes it out.
  void Count(const TrialState& trial, int sign);
  void NotePart(int64_t us);  // a part took so long on its worker
  // What Dispatch compares jobs by.
  Claim claim() const;
  // Time that all ranks of all attempts have taken, in microseconds; live ones count up to `now_us`.
  int64_t NodeTimeUs(int64_t now_us) const;
  // What that costs.
  double Cost(int64_t now_us) const;
};

// A job, open or ended, with the state that its facts give.
absl::StatusOr<std::unique_ptr<OpenJob>> ReadJob(Store& store, JobRow row);

// The open jobs. Recording a fact appends it, applies it, decides, and records each decision the same way.
// Owner: the coordinator thread; every method runs inside the batch's transaction.
class Jobs {
 public:
  explicit Jobs(Context& context) : context_(context) {}

  // Reads all open jobs anew.
  absl::Status Load();
  OpenJob& Add(std::unique_ptr<OpenJob> job);

  // A known request id gives the id of the job of the same project that it made. `fits`: whether its clusters
  // could ever be placed. `add_source`, if given, is called with the key of a new job, whose row gets
  // `source`.
  absl::StatusOr<std::string> Create(const v1::TuningJobSpec& spec, const std::string& request_id,
                                     const WarmStart& start, const std::string& owner,
                                     const std::function<absl::Status()>& fits,
                                     const std::string& source = "",
                                     const std::function<void(int64_t)>& add_source = nullptr,
                                     const std::string& project = "");
  // The row of a job that may be deleted. NOT_FOUND; PERMISSION_DENIED if it is not `by`'s to delete;
  // FAILED_PRECONDITION while it runs.
  absl::StatusOr<JobRow> FindDeletable(const std::string& id, const Requester& by);

  // Records `body` and every decision that follows from it. The trials that ended by them, in order: their
  // ranks are to be stopped (see Recorder, by which everything but the facts of a new job is recorded).
  [[nodiscard]] std::vector<TrialNumber> Record(OpenJob& job, FactBody body) {
    return Record(job, std::move(body), context_.wall_us());
  }
  // A value of a metric that ranks trials. Absent: it was reported before, at that attempt and resource.
  [[nodiscard]] std::optional<std::vector<TrialNumber>> RecordReport(OpenJob& job, const ReportRow& report);
  // A value of any other metric. False: it was reported before.
  bool StoreMetric(OpenJob& job, const ReportRow& report);

  // The job's search model is to be asked at the end of the batch, if it is not being asked already.
  void AskSearchModel(OpenJob& job);
  // To the search models that are to be asked, in the order in which that was said; without epochs.
  std::vector<Question> TakeQuestions();
  // Whether the search model's answer still fits the job, which may have moved on since it was asked.
  bool IsWanted(const OpenJob& job, const Suggested& answer) const;
  // Sets the deadlines anew at which max_node_seconds and max_cost will be used up.
  void WatchSpending(const OpenJob& job);

  OpenJob* Find(const std::string& id);
  OpenJob* FindKey(int64_t key);
  const OpenJob* FindKey(int64_t key) const;
  const std::map<int64_t, std::unique_ptr<OpenJob>>& all() const { return jobs_; }
  // What those hold that workers train.
  std::vector<JobUse> Uses() const;

  // Writes the rows that follow from the facts of this batch.
  void Flush();
  // After the commit: search models that were never asked read the facts from the tables.
  void Committed();
  // After that: ended jobs are read from their rows from now on. Gives their keys.
  std::vector<int64_t> ForgetEnded();

 private:
  std::vector<TrialNumber> Record(OpenJob& job, FactBody body, int64_t time_us);
  void NoteFact(OpenJob& job, const Fact& fact);
  void WatchWallTime(const OpenJob& job);
  void WatchNodeTime(const OpenJob& job);
  void WatchCost(const OpenJob& job);
  Context& context_;
  std::map<int64_t, std::unique_ptr<OpenJob>> jobs_;  // by key
  std::vector<int64_t> to_ask_;
};

// What SummaryTable keeps of a job that has ended. REQUIRES all its facts are applied.
std::string Description(const OpenJob& job);
// Makes the descriptions of ended jobs that have none, as in a file of an earlier version. Takes as long as
// reading their facts. A job whose facts cannot be read gets none: reading the job gives the error.
absl::Status DescribeEnded(Store& store);

constexpr size_t kMostRequestId = 128;  // bytes
// A request id as it is stored: those of different projects never meet.
std::string StoredRequestId(const std::string& request_id, const std::string& project);

// Trial that a fact is about; 0: the job.
TrialNumber TrialOf(const FactBody& body);

}  // namespace winnow
