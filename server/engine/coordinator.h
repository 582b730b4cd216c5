#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "base/status_text.h"
#include "server/engine/batches.h"
#include "server/engine/engine.h"
#include "server/engine/hub.h"

namespace winnow {

// The one writer: a thread that drains a queue of use cases, runs everything drained inside one SQLite
// transaction, and completes the calls after the commit. If the commit fails, nothing is acknowledged: calls
// end with "not recorded, send it again" (RESOURCE_EXHAUSTED on a full disk, else UNAVAILABLE), and all state
// is read anew from the tables once there is room. Methods are thread-safe; completions run on the
// coordinator's thread and must not block.
class Coordinator {
 public:
  template <typename T>
  using Done = std::function<void(absl::StatusOr<T>)>;

  // Loads the tables and starts the thread. `hub` outlives it.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Start(std::unique_ptr<Store> store, Hub& hub,
                                                            EngineOptions options);
  // As Start, to show what is recorded: nothing falls due and nothing is decided, also where jobs run.
  // REQUIRES that no use case changes anything.
  static absl::StatusOr<std::unique_ptr<Coordinator>> StartToShow(std::unique_ptr<Store> store, Hub& hub,
                                                                  EngineOptions options = {});
  // Waits for the search model that is thinking, if one is, runs what is queued, then stops. REQUIRES nothing
  // is posted any more.
  ~Coordinator();

  // `caller`: as SyncCalls::Take.
  void Sync(v1::SyncRequest request, SyncDone done, std::string caller = "",
            std::vector<std::string> projects = {});
  // The call may be held. Returns a ticket for CancelSuggestTrials, after which the call ends with CANCELLED
  // if it was not answered before.
  int64_t SuggestTrials(v1::SuggestTrialsRequest request, SuggestDone done, Requester by = {});
  void CancelSuggestTrials(int64_t ticket);
  void ReportMetrics(v1::ReportMetricsRequest request, Done<v1::ReportMetricsResponse> done,
                     Requester by = {});
  void CompleteTrial(v1::CompleteTrialRequest request, Done<v1::CompleteTrialResponse> done,
                     Requester by = {});
  void ListWorkers(bool include_gone, Done<std::vector<v1::Worker>> done);
  void SetWorkerScheduling(v1::SetWorkerSchedulingRequest request, Done<v1::Worker> done);

  // The server is about to stop: held calls end with UNAVAILABLE, and none is held any more.
  void StopHolding();
  const std::string& database_file() const { return store_->database().file(); }
  // Waits until what was posted before has run and is completed. REQUIRES another thread than the
  // coordinator's.
  void AwaitQueued();
  // The number of use cases that wait for their batch.
  size_t queue_length();
  // Looks at the clock again; for tests that advance it.
  void Wake();
  // `handler` is called on the coordinator's thread if the tables are damaged or cannot be read any more. It
  // ends the process, which is aborted if it returns: nothing that is not recorded may be acknowledged.
  // REQUIRES no call yet.
  void OnFatal(std::function<void(absl::Status)> handler) { on_fatal_ = std::move(handler); }

  // `reload` reads anew what is kept elsewhere of the tables; null: nothing. It is called on the
  // coordinator's thread when all state was read anew from the tables, before any other use case: a commit
  // whose answer was lost may have recorded what nobody was told of. Waits for a call that is under way.
  void OnReload(std::function<absl::Status(Store&)> reload);

  // See Artifacts::LoseBlob.
  void LoseBlob(std::string digest);

  // Runs `run` in the next batch. Calls `done` with its result, or with the reason why the batch was not
  // committed. `Answer` is an absl::Status or an absl::StatusOr.
  template <typename Answer>
  void Call(std::function<Answer(Engine&)> run, std::function<void(Answer)> done) {
    auto answer = std::make_shared<Answer>();
    Post({[answer, run = std::move(run)](Engine& engine) { *answer = run(engine); },
          [answer, done = std::move(done)](const absl::Status& committed) {
            done(committed.ok() ? std::move(*answer) : Answer(committed));
          }});
  }
  // Runs `run` in the next batch and waits for its answer. An error rolls the batch back. REQUIRES another
  // thread than the coordinator's.
  template <typename Answer>
  Answer CallOrRollBack(std::function<Answer(Engine&)> run) {
    std::promise<Answer> promise;
    Call<Answer>(
        [&run](Engine& engine) {
          Answer answer = run(engine);
          if constexpr (std::is_same_v<Answer, absl::Status>) {
            engine.context().Note(answer);
          } else {
            engine.context().Note(answer.status());
          }
          return answer;
        },
        [&promise](Answer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
  // Part of the next batch.
  using UseCase = winnow::UseCase;
  void Post(UseCase use_case);

 private:
  Coordinator(std::unique_ptr<Store> store, Hub& hub, EngineOptions options, bool decides);
  static absl::StatusOr<std::unique_ptr<Coordinator>> Make(std::unique_ptr<Store> store, Hub& hub,
                                                           EngineOptions options, bool decides);
  void Run();
  // Runs `run` in the next batch. The engine calls `done`, also if the batch fails. If `run` could not run,
  // `done` gets UNAVAILABLE. Calls `after` after the batch.
  template <typename Done>
  void PostHeld(Done done, std::function<void(Engine&, Done)> run,
                std::function<void(const absl::Status&)> after = nullptr) {
    auto taken = std::make_shared<bool>(false);
    Post({[taken, run = std::move(run), done](Engine& engine) {
            *taken = true;
            run(engine, done);
          },
          [taken, done, after = std::move(after)](const absl::Status& committed) {
            if (!*taken) done(absl::UnavailableError(MessageOf(committed)));
            if (after) after(committed);
          }});
  }
  // Runs `run` in the next batch; its result is not reported.
  void PostOnly(std::function<void(Engine&)> run) {
    Post({std::move(run), [](const absl::Status&) {}});
  }
  void RunBatch(std::deque<UseCase> batch, int64_t now_us);
  // Asks search models. Waits for the next use cases, for a moment at most, and gives them.
  std::deque<UseCase> Join(std::vector<Question> questions);
  void Follow(Engine::Effects effects);
  void NoteDelay(std::chrono::nanoseconds delay);
  // Counts the state for the metrics, at most once a second.
  void Count();

  std::unique_ptr<Store> store_;
  Hub& hub_;
  Clock clock_;
  Metrics* const metrics_;  // null: nothing is measured
  ModelFactory make_model_;
  const bool decides_;
  Engine engine_;                                    // the thread's own
  Batches batches_;                                  // the thread's own
  bool counted_ = true;                              // nothing has happened since the count; the thread's own
  std::chrono::steady_clock::time_point count_due_;  // no count before; the thread's own
  std::unique_ptr<SuggestionThreads> models_;
  std::atomic<double> thought_ = 0;  // seconds that a search model's newest answer took
  std::atomic<int64_t> tickets_ = 0;
  std::function<void(absl::Status)> on_fatal_;
  Mutex reload_mutex_;
  std::function<absl::Status(Store&)> on_reload_ ABSL_GUARDED_BY(reload_mutex_);

  Mutex mutex_;
  CondVar wake_;
  std::deque<UseCase> queue_ ABSL_GUARDED_BY(mutex_);
  bool looked_ ABSL_GUARDED_BY(mutex_) = true;  // nobody asked to look at the clock
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace winnow
