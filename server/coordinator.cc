#include "server/coordinator.h"

#include <chrono>
#include <cstdlib>

namespace winnow {

Coordinator::Coordinator(std::unique_ptr<Store> store, Hub& hub, EngineOptions options)
    : store_(std::move(store)),
      hub_(hub),
      clock_(options.clock),
      make_model_(options.make_model),
      engine_(*store_, std::move(options)) {}

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Start(std::unique_ptr<Store> store, Hub& hub,
                                                                EngineOptions options) {
  std::unique_ptr<Coordinator> coordinator(new Coordinator(std::move(store), hub, std::move(options)));
  absl::Status status = coordinator->engine_.Load();
  if (!status.ok()) return status;
  coordinator->models_ = std::make_unique<SuggestionThread>(
      coordinator->store_->database().file(), coordinator->make_model_,
      [raw = coordinator.get()](int64_t job, std::optional<Suggested> answer) {
        raw->Post({[job, answer = std::move(answer)](Engine& engine) { engine.TakeSuggestion(job, answer); },
                   [](const absl::Status&) {}});
      });
  coordinator->thread_ = std::thread([raw = coordinator.get()] { raw->Run(); });
  return coordinator;
}

Coordinator::~Coordinator() {
  if (models_ != nullptr) models_->Stop();
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Coordinator::Post(UseCase use_case) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(use_case));
  }
  wake_.notify_one();
}

void Coordinator::Wake() {
  {
    std::lock_guard lock(mutex_);
    looked_ = false;
  }
  wake_.notify_one();
}

void Coordinator::Run() {
  while (true) {
    std::deque<UseCase> batch;
    bool last = false;
    {
      std::unique_lock lock(mutex_);
      auto ready = [&] { return !queue_.empty() || stopping_ || !looked_; };
      if (std::optional<int64_t> deadline = engine_.next_deadline()) {
        int64_t left = *deadline - clock_.steady_us();
        if (left > 0) wake_.wait_for(lock, std::chrono::microseconds(left), ready);
      } else {
        wake_.wait(lock, ready);
      }
      batch.swap(queue_);
      looked_ = true;
      last = stopping_ && batch.empty();
    }
    if (last) break;
    RunBatch(std::move(batch));
  }
  engine_.RefuseAll(absl::UnavailableError("the server is stopping"));
}

void Coordinator::RunBatch(std::deque<UseCase> batch) {
  engine_.Begin();
  absl::Status status = store_->Write([&] {
    for (UseCase& use_case : batch) use_case.run(engine_);
    engine_.FireDeadlines();
    return engine_.Finish();
  });
  if (status.ok()) {
    engine_.Committed();
    AskModels();
    for (const std::string& topic : engine_.TakeChanged()) hub_.Publish(topic);
  } else {
    Recover(status);
  }
  for (UseCase& use_case : batch) use_case.complete(status);
}

void Coordinator::AskModels() {
  Jobs& jobs = engine_.jobs();
  for (int64_t key : std::exchange(jobs.to_ask, {})) {
    if (const OpenJob* job = jobs.FindKey(key)) models_->Ask(key, job->state.spec());
  }
  for (int64_t key : std::exchange(jobs.gone, {})) models_->Forget(key);
}

void Coordinator::Recover(const absl::Status& status) {
  engine_.RolledBack(status);
  absl::Status loaded = engine_.Load();
  if (loaded.ok()) return;
  if (on_fatal_) on_fatal_(loaded);
  std::abort();
}

void Coordinator::CreateJob(v1::TuningJobSpec spec, std::string request_id, Done<std::string> done,
                            WarmStart start) {
  auto id = std::make_shared<absl::StatusOr<std::string>>();
  Post({[id, spec = std::move(spec), request_id = std::move(request_id),
         start = std::move(start)](Engine& engine) { *id = engine.CreateJob(spec, request_id, start); },
        [id, done = std::move(done)](const absl::Status& committed) {
          committed.ok() ? done(*id) : done(committed);
        }});
}

void Coordinator::StopJob(std::string id, std::string reason, DoneStatus done) {
  auto status = std::make_shared<absl::Status>();
  Post({[status, id = std::move(id), reason = std::move(reason)](Engine& engine) {
          *status = engine.StopJob(id, reason);
        },
        [status, done = std::move(done)](const absl::Status& committed) {
          done(committed.ok() ? *status : committed);
        }});
}

void Coordinator::DeleteJob(std::string id, DoneStatus done) {
  auto status = std::make_shared<absl::Status>();
  Post({[status, id = std::move(id)](Engine& engine) { *status = engine.DeleteJob(id); },
        [status, done = std::move(done)](const absl::Status& committed) {
          done(committed.ok() ? *status : committed);
        }});
}

void Coordinator::Sync(v1::SyncRequest request, SyncDone done) {
  auto taken = std::make_shared<bool>(false);  // then the engine answers, also when the batch fails
  Post({[taken, request = std::move(request), done](Engine& engine) {
          *taken = true;
          engine.Sync(request, done);
        },
        [taken, done](const absl::Status& committed) {
          if (!*taken) done(absl::UnavailableError(std::string(committed.message())));
        }});
}

int64_t Coordinator::SuggestTrials(v1::SuggestTrialsRequest request, SuggestDone done) {
  const int64_t ticket = ++tickets_;
  auto taken = std::make_shared<bool>(false);  // then the engine answers, also when the batch fails
  Post({[ticket, taken, request = std::move(request), done](Engine& engine) {
          *taken = true;
          engine.SuggestTrials(ticket, request, done);
        },
        [taken, done](const absl::Status& committed) {
          if (!*taken) done(absl::UnavailableError(std::string(committed.message())));
        }});
  return ticket;
}

void Coordinator::CancelSuggestTrials(int64_t ticket) {
  Post({[ticket](Engine& engine) { engine.CancelSuggestTrials(ticket); }, [](const absl::Status&) {}});
}

void Coordinator::ReportMetrics(v1::ReportMetricsRequest request, Done<v1::ReportMetricsResponse> done) {
  auto answer = std::make_shared<absl::StatusOr<v1::ReportMetricsResponse>>();
  Post({[answer, request = std::move(request)](Engine& engine) { *answer = engine.ReportMetrics(request); },
        [answer, done = std::move(done)](const absl::Status& committed) {
          committed.ok() ? done(std::move(*answer)) : done(committed);
        }});
}

void Coordinator::CompleteTrial(v1::CompleteTrialRequest request, Done<v1::CompleteTrialResponse> done) {
  auto answer = std::make_shared<absl::StatusOr<v1::CompleteTrialResponse>>();
  Post({[answer, request = std::move(request)](Engine& engine) { *answer = engine.CompleteTrial(request); },
        [answer, done = std::move(done)](const absl::Status& committed) {
          committed.ok() ? done(std::move(*answer)) : done(committed);
        }});
}

void Coordinator::ListWorkers(bool include_gone, Done<std::vector<v1::Worker>> done) {
  auto workers = std::make_shared<std::vector<v1::Worker>>();
  Post({[workers, include_gone](Engine& engine) { *workers = engine.ListWorkers(include_gone); },
        [workers, done = std::move(done)](const absl::Status& committed) {
          committed.ok() ? done(std::move(*workers)) : done(committed);
        }});
}

void Coordinator::StopHolding() {
  Post({[](Engine& engine) { engine.StopHolding(); }, [](const absl::Status&) {}});
}

}  // namespace winnow
