#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/engine.h"
#include "server/hub.h"

namespace winnow {

// The one writer: a thread that drains a queue of use cases, runs everything drained inside one SQLite
// transaction, and completes the calls after the commit. If the commit fails nothing is acknowledged and all
// state is read anew from the tables. Methods are thread-safe; completions run on the coordinator's thread
// and must not block.
class Coordinator {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;
  using DoneStatus = std::function<void(absl::Status)>;

  // Loads the tables and starts the thread. `hub` outlives it.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(std::unique_ptr<Store> store, Hub& hub,
                                                            EngineOptions options);
  // Waits for the model's fit that is under way, if one is, answers what is queued, then stops; nothing may
  // be posted any more.
  ~Coordinator();

  // REQUIRES the spec is checked. Gives the job's id.
  void CreateJob(v1::TuningJobSpec spec, std::string request_id, Done<std::string> done,
                 WarmStart start = {});
  void StopJob(std::string id, std::string reason, DoneStatus done);
  void DeleteJob(std::string id, DoneStatus done);
  void Sync(v1::SyncRequest request, SyncDone done);
  // The call may be held. Gives a ticket to cancel it by; then `done` is told CANCELLED, unless it was told
  // before.
  int64_t SuggestTrials(v1::SuggestTrialsRequest request, SuggestDone done);
  void CancelSuggestTrials(int64_t ticket);
  void ReportMetrics(v1::ReportMetricsRequest request, Done<v1::ReportMetricsResponse> done);
  void CompleteTrial(v1::CompleteTrialRequest request, Done<v1::CompleteTrialResponse> done);
  void ListWorkers(bool include_gone, Done<std::vector<v1::Worker>> done);

  // Held calls are answered UNAVAILABLE and none is held back any more: the server is about to stop.
  void StopHolding();
  // Looks at the clock anew; for tests that tick it.
  void Wake();
  // Called on the coordinator's thread if the tables cannot be read any more: it says so, then the process is
  // aborted, for nothing that is not recorded may be acknowledged. Set before the first call.
  void OnFatal(std::function<void(absl::Status)> handler) { on_fatal_ = std::move(handler); }

  // Runs `run` inside the next batch's transaction, then `complete` with what became of the batch. If no
  // transaction could be begun, only `complete`.
  struct UseCase {
    std::function<void(Engine&)> run;
    std::function<void(const absl::Status&)> complete;
  };
  void Post(UseCase use_case);

 private:
  Coordinator(std::unique_ptr<Store> store, Hub& hub, EngineOptions options);
  void Run();
  void RunBatch(std::deque<UseCase> batch);
  void AskModels();
  void Recover(const absl::Status& status);

  std::unique_ptr<Store> store_;
  Hub& hub_;
  Clock clock_;
  ModelFactory make_model_;
  Engine engine_;  // the thread's own
  std::unique_ptr<SuggestionThread> models_;
  std::atomic<int64_t> tickets_ = 0;
  std::function<void(absl::Status)> on_fatal_;

  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_:
  std::deque<UseCase> queue_;
  bool looked_ = true;  // nobody asked to look at the clock
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace winnow
