#include "server/engine/coordinator.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/status_text.h"
#include "server/engine/metrics.h"
namespace winnow {
namespace {

// A delay of one part in so many of a lease: the thread was not let run, and workers could not be heard.
constexpr int kStandstillParts = 3;

// An open batch waits at most so long for search models, and only while their answers do not take longer.
// Nobody else is held up by that: whatever arrives ends the wait.
constexpr std::chrono::milliseconds kLongestJoin{10};

// How often the metrics are updated while the server is busy.
constexpr std::chrono::seconds kCountEvery{1};

}  // namespace

Coordinator::Coordinator(std::unique_ptr<Store> store, Hub& hub, EngineOptions options, bool decides)
    : store_(std::move(store)),
      hub_(hub),
      clock_(options.clock),
      metrics_(options.metrics),
      make_model_(options.make_model),
      decides_(decides),
      engine_(*store_, std::move(options)),
      batches_(*store_, engine_, decides) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(std::unique_ptr<Store> store, Hub& hub,
                                                                EngineOptions options) {
  return Make(std::move(store), hub, std::move(options), true);
}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::StartToShow(std::unique_ptr<Store> store, Hub& hub,
                                                                      EngineOptions options) {
  return Make(std::move(store), hub, std::move(options), false);
}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Make(std::unique_ptr<Store> store, Hub& hub,
                                                               EngineOptions options, bool decides) {
  std::unique_ptr<Coordinator> coordinator(
      new Coordinator(std::move(store), hub, std::move(options), decides));
  absl::Status status = coordinator->engine_.Load();
  if (!status.ok()) return status;
  // It only saves time: a disk that is full, for one, does not keep the server from starting.
  (void)DescribeEnded(*coordinator->store_);
  coordinator->models_ = std::make_unique<SuggestionThreads>(
      coordinator->engine_.context().options.model_threads, coordinator->store_->database().file(),
      coordinator->make_model_,
      [raw = coordinator.get()](const Question& question, std::optional<Suggested> answer) {
        raw->PostOnly([job = question.job, epoch = question.epoch, answer = std::move(answer)](
                          Engine& engine) { engine.TakeSuggestion(job, epoch, answer); });
      },
      [raw = coordinator.get()](double seconds) {
        raw->thought_ = seconds;
        if (raw->metrics_ != nullptr) raw->metrics_->suggest.Observe(seconds);
      },
      [raw = coordinator.get()](const ChoiceQuestion& question, std::optional<v1::BestTrial> best) {
        raw->PostOnly([id = question.id, job = question.job, best = std::move(best)](Engine& engine) {
          engine.TakeChoice(id, job, best);
        });
      });
  coordinator->batches_.OnQuestions(
      [raw = coordinator.get()](std::vector<Question> questions) { return raw->Join(std::move(questions)); });
  coordinator->batches_.OnReload([raw = coordinator.get()]() -> absl::Status {
    MutexLock lock(raw->reload_mutex_);
    return raw->on_reload_ ? raw->on_reload_(*raw->store_) : absl::OkStatus();
  });
  coordinator->Follow(coordinator->engine_.TakeEffects());
  coordinator->Count();
  coordinator->thread_ = std::thread([raw = coordinator.get()] { raw->Run(); });
  return coordinator;
}

Coordinator::~Coordinator() {
  if (models_ != nullptr) models_->Stop();
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void Coordinator::Post(UseCase use_case) {
  {
    MutexLock lock(mutex_);
    queue_.push_back(std::move(use_case));
  }
  wake_.NotifyOne();
}

void Coordinator::AwaitQueued() {
  const auto completed = std::make_shared<std::promise<void>>();
  Post({[](Engine&) {}, [completed](const absl::Status&) { completed->set_value(); }});
  completed->get_future().wait();
}

size_t Coordinator::queue_length() {
  MutexLock lock(mutex_);
  return queue_.size();
}

void Coordinator::Wake() {
  {
    MutexLock lock(mutex_);
    looked_ = false;
  }
  wake_.NotifyOne();
}

void Coordinator::Run() {
  // The last moment at which this thread is known to have been let run.
  auto alive = std::chrono::steady_clock::now();
  while (true) {
    std::deque<UseCase> batch;
    bool last = false;
    int64_t now_us = 0;
    {
      MutexLock lock(mutex_);
      std::optional<std::chrono::steady_clock::time_point> due;
      if (const std::optional<int64_t> deadline = batches_.next_deadline()) {
        due = std::chrono::steady_clock::now() + std::chrono::microseconds(*deadline - clock_.steady_us());
      }
      if (!counted_ && (!due || count_due_ < *due)) due = count_due_;
      bool over = false;
      while (queue_.empty() && !stopping_ && looked_ && !over) {
        if (due) {
          over = !wake_.WaitUntil(mutex_, *due);
        } else {
          wake_.Wait(mutex_);
        }
      }
      // In this order: what is judged to be due was so before the moment up to which the delay is measured.
      now_us = clock_.steady_us();
      const auto woken = std::chrono::steady_clock::now();
      if (due) NoteDelay(woken - std::max(alive, *due));
      alive = woken;
      batch.swap(queue_);
      looked_ = true;
      last = stopping_ && batch.empty();
    }
    if (last) break;
    RunBatch(std::move(batch), now_us);
    Count();
    const auto done = std::chrono::steady_clock::now();
    NoteDelay(done - alive);
    alive = done;
  }
  engine_.RefuseAll(absl::UnavailableError("the server is stopping"));
}

void Coordinator::Count() {
  if (metrics_ == nullptr) return;
  const auto now = std::chrono::steady_clock::now();
  counted_ = now >= count_due_;
  if (!counted_) return;
  metrics_->Put(CountState(engine_));
  count_due_ = now + kCountEvery;
}

void Coordinator::NoteDelay(std::chrono::nanoseconds delay) {
  const std::chrono::microseconds lease(engine_.context().options.lease_us);
  if (delay * kStandstillParts > lease) batches_.StoodStill();
}

void Coordinator::RunBatch(std::deque<UseCase> batch, int64_t now_us) {
  const absl::Status status = batches_.Run(batch, now_us);
  if (status.ok()) {
    Follow(engine_.TakeEffects());
  } else if (absl::IsDataLoss(status)) {
    if (on_fatal_) on_fatal_(status);
    WINNOW_UNREACHABLE("what on_fatal_ is given ends the process: " + MessageOf(status));
  }
  for (UseCase& use_case : batch) use_case.complete(status);
}

std::deque<UseCase> Coordinator::Join(std::vector<Question> questions) {
  for (Question& question : questions) models_->Ask(std::move(question));
  std::deque<UseCase> arrived;
  if (thought_ > std::chrono::duration<double>(kLongestJoin).count()) return arrived;
  const auto until = std::chrono::steady_clock::now() + kLongestJoin;
  MutexLock lock(mutex_);
  while (queue_.empty() && !stopping_ && wake_.WaitUntil(mutex_, until)) {
  }
  arrived.swap(queue_);
  return arrived;
}

void Coordinator::Follow(Engine::Effects effects) {
  if (!decides_) return;
  for (Question& question : effects.questions) models_->Ask(std::move(question));
  for (const int64_t job : effects.ended) models_->Forget(job);
  for (ChoiceQuestion& question : effects.choices) models_->Choose(std::move(question));
  for (const std::string& topic : effects.topics) hub_.Publish(topic);
}

void Coordinator::Sync(v1::SyncRequest request, SyncDone done, std::string caller,
                       std::vector<std::string> projects) {
  const auto begin = std::chrono::steady_clock::now();
  PostHeld<SyncDone>(
      std::move(done),
      [request = std::move(request), caller = std::move(caller), projects = std::move(projects)](
          Engine& engine, SyncDone answer) { engine.Sync(request, std::move(answer), caller, projects); },
      [metrics = metrics_, begin](const absl::Status& committed) {
        if (!committed.ok() || metrics == nullptr) return;
        metrics->sync.Observe(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
      });
}

int64_t Coordinator::SuggestTrials(v1::SuggestTrialsRequest request, SuggestDone done, Requester by) {
  const int64_t ticket = ++tickets_;
  PostHeld<SuggestDone>(std::move(done), [ticket, request = std::move(request), by = std::move(by)](
                                             Engine& engine, SuggestDone answer) {
    engine.SuggestTrials(ticket, request, by, std::move(answer));
  });
  return ticket;
}

void Coordinator::CancelSuggestTrials(int64_t ticket) {
  PostOnly([ticket](Engine& engine) { engine.CancelSuggestTrials(ticket); });
}

void Coordinator::ReportMetrics(v1::ReportMetricsRequest request, Done<v1::ReportMetricsResponse> done,
                                Requester by) {
  Call<absl::StatusOr<v1::ReportMetricsResponse>>(
      [request = std::move(request), by = std::move(by)](Engine& engine) {
        return engine.ReportMetrics(request, by);
      },
      std::move(done));
}

void Coordinator::CompleteTrial(v1::CompleteTrialRequest request, Done<v1::CompleteTrialResponse> done,
                                Requester by) {
  Call<absl::StatusOr<v1::CompleteTrialResponse>>(
      [request = std::move(request), by = std::move(by)](Engine& engine) {
        return engine.CompleteTrial(request, by);
      },
      std::move(done));
}

void Coordinator::ListWorkers(bool include_gone, Done<std::vector<v1::Worker>> done) {
  Call<absl::StatusOr<std::vector<v1::Worker>>>(
      [include_gone](Engine& engine) { return engine.ListWorkers(include_gone); }, std::move(done));
}

void Coordinator::SetWorkerScheduling(v1::SetWorkerSchedulingRequest request, Done<v1::Worker> done) {
  Call<absl::StatusOr<v1::Worker>>(
      [request = std::move(request)](Engine& engine) { return engine.SetWorkerScheduling(request); },
      std::move(done));
}

void Coordinator::OnReload(std::function<absl::Status(Store&)> reload) {
  MutexLock lock(reload_mutex_);
  on_reload_ = std::move(reload);
}

void Coordinator::LoseBlob(std::string digest) {
  PostOnly([digest = std::move(digest)](Engine& engine) { engine.LoseBlob(digest); });
}

void Coordinator::StopHolding() {
  PostOnly([](Engine& engine) { engine.StopHolding(); });
}

}  // namespace winnow
