#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/engine/coordinator.h"
#include "server/reads/reads.h"
#include "tests/store/stores.h"
#include "tests/store/temp_folder.h"

namespace winnow {

// A time that stands still until it is ticked.
struct ManualClock {
  std::atomic<int64_t> now_us{1'700'000'000'000'000};
  std::atomic<int64_t> step_us{0};  // by which it goes on whenever somebody looks at the steady clock
  Clock clock() {
    return {[this] { return now_us.load(); }, [this] { return now_us += step_us; }};
  }
};

// A coordinator on a database of its own (see Places), called without gRPC; calls wait for their completion.
class Play {
 public:
  // `blobs`, if given, are those of an artifact store, and outlive it.
  explicit Play(int64_t lease_us = 15'000'000, BlobIndex* blobs = nullptr);
  ~Play();

  // As after a kill -9: a new coordinator on the same file, once the server was down for so long.
  void Restart(int64_t down_us = 0);
  void Tick(int64_t us);

  std::string Create(const v1::TuningJobSpec& spec, const std::string& request_id = "", WarmStart start = {});
  // What is refused is not a failure of the test.
  absl::StatusOr<std::string> TryCreate(const v1::TuningJobSpec& spec, const std::string& request_id = "",
                                        WarmStart start = {});
  absl::Status Stop(const std::string& id);
  absl::Status Delete(const std::string& id);
  absl::StatusOr<v1::SyncResponse> Sync(const v1::SyncRequest& request, const std::string& caller = "",
                                        const std::vector<std::string>& projects = {});
  // The call may be held: the answer comes later.
  std::future<absl::StatusOr<v1::SyncResponse>> StartSync(const v1::SyncRequest& request,
                                                          const std::string& caller = "",
                                                          const std::vector<std::string>& projects = {});
  absl::StatusOr<v1::SuggestTrialsResponse> Ask(const v1::SuggestTrialsRequest& request);
  // The call may be held: the answer comes later. `ticket`, if given, is set to what cancels it.
  std::future<absl::StatusOr<v1::SuggestTrialsResponse>> StartAsk(const v1::SuggestTrialsRequest& request,
                                                                  int64_t* ticket = nullptr);
  absl::StatusOr<v1::ReportMetricsResponse> Report(const v1::ReportMetricsRequest& request);
  absl::StatusOr<v1::CompleteTrialResponse> Complete(const v1::CompleteTrialRequest& request);
  // Until every model that was asked has answered.
  void AwaitModels();
  v1::TuningJob Describe(const std::string& id);
  std::vector<v1::Trial> Trials(const std::string& id);
  std::vector<v1::Worker> Workers(bool include_gone = true);
  std::vector<Fact> Facts(const std::string& id);
  RefusedReports Refused();
  // Runs `body` on the coordinator's thread, inside a transaction.
  absl::Status Inside(std::function<void(Engine&)> body);

  // What lives in memory is what the tables say: the state from the facts, the rows of trials from the state.
  void CheckStored();

  // Used by the coordinators started from now on.
  ModelFactory make_model;
  Metrics* metrics = nullptr;  // outlives it
  ProjectRules project_rules;  // EngineOptions::projects
  int64_t audit_keep_us = 0;   // see EngineOptions, as the next four
  int64_t jobs_keep_us = 0, jobs_keep_number = 0, jobs_keep_bytes = 0;
  std::function<void(Context&, const v1::Event&)> tell;
  RankTls rank_tls = RankTls::kNever;

  ManualClock time;
  TempFolder folder;
  Hub hub;
  const std::string& file() const { return file_; }
  Coordinator& coordinator() { return *coordinator_; }

 private:
  void Start();
  Places places_;
  const std::string file_ = Places::postgres() ? places_.Name("w.db") : folder.file("w.db");
  int64_t lease_us_;
  BlobIndex* blobs_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<Store> rows_;
  std::unique_ptr<Reads> reads_;
};

// A worker that trains in no time: each Step is one Sync, before which every running rank 0 reports one
// level.
class FakeWorker {
 public:
  FakeWorker(Play& play, const std::string& name, int32_t slots, const std::string& storage = "shared");

  // The objective of a trial at a level; default: a curve of its own for every trial.
  std::function<double(TrialNumber, int64_t)> objective;
  // The other metric of a trial, "seconds".
  std::function<double(TrialNumber)> seconds = [](TrialNumber) { return 0.5; };
  // The levels at which trials fail, by trial.
  std::map<TrialNumber, int64_t> fails_at;
  bool leaving = false;
  std::map<std::string, std::string> labels;
  std::vector<std::string> gpus;
  std::map<std::string, std::string> faults;  // of its GPUs
  int32_t ahead = 0;                          // ranks that it takes beyond its slots; it trains them too
  int64_t part_us = 1'000'000;                // that each part takes, as it says
  double cost_per_hour = 0;
  std::string loopback_of;
  std::optional<int64_t> remaining_us;  // until it leaves by itself
  // Whether processes start when the assignment comes; otherwise each has taken a second when it ends.
  bool tells_true_times = false;

  struct Running {
    v1::Assignment assignment;
    int64_t reached = 0;
    int64_t start_us = 0;
    v1::RunningAssignment state;
    std::vector<v1::Report> unsent;
  };
  std::map<std::string, Running> running;

  // Trains a level, then tells. The answer is acted upon.
  absl::Status Step();
  // Tells without training.
  absl::Status Tell();
  void Train();
  v1::SyncRequest Request() const;
  void Act(const v1::SyncResponse& response);
  // As a new process of the same name.
  void StartAnew();
  const std::string& id() const { return id_; }

 private:
  Play& play_;
  std::string name_;
  int32_t slots_;
  std::string storage_;
  std::string id_;
  int generation_ = 0;
};

// Steps the workers in turn until the job ends; fails the test if it does not.
v1::TuningJob PlayToEnd(Play& play, const std::string& id, std::vector<FakeWorker*> workers,
                        const std::function<void(int step)>& between = nullptr);

// A job that minimises "loss" over one parameter, with a trainer of 9 levels.
v1::TuningJobSpec RandomJob(int64_t trials, int64_t levels = 9);
v1::TuningJobSpec HyperbandJob(int64_t max_resource = 9);

}  // namespace winnow
