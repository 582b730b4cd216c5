#include "server/engine/suggester.h"

#include <spdlog/spdlog.h>

#include <chrono>

#include "scheduler/suggest.h"

namespace winnow {
namespace {

// Between two tries to read the tables when that fails.
constexpr std::chrono::seconds kReadAgainAfter{1};

Model RealModel() {
  return Suggest;
}

}  // namespace

SuggestionThread::SuggestionThread(std::string file, ModelFactory make_model, Answer answer, Timed timed)
    : file_(std::move(file)),
      make_model_(make_model ? std::move(make_model) : RealModel),
      answer_(std::move(answer)),
      timed_(std::move(timed)),
      thread_([this] { Run(); }) {}

void SuggestionThread::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    queue_.clear();
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SuggestionThread::Ask(int64_t job, SearchSpec spec) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({job, std::move(spec)});
  }
  wake_.notify_one();
}

void SuggestionThread::Forget(int64_t job) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({job, std::nullopt});
  }
  wake_.notify_one();
}

void SuggestionThread::Run() {
  while (true) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    if (task.spec) {
      answer_(task.job, Think(task));
    } else {
      known_.erase(task.job);
    }
  }
}

bool SuggestionThread::Pause() {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, kReadAgainAfter, [&] { return stopping_; });
}

absl::Status SuggestionThread::BringUpToDate(int64_t job, JobState& state) {
  if (store_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file_);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<std::vector<Fact>> facts = store_->facts.Load(job, state.last_sequence());
  if (!facts.ok()) return facts.status();
  for (const Fact& fact : *facts) state.Apply(fact);
  return absl::OkStatus();
}

std::optional<Suggested> SuggestionThread::Think(const Task& task) {
  auto found = known_.find(task.job);
  if (found == known_.end()) {
    found = known_.emplace(task.job, Entry{JobState(*task.spec), make_model_()}).first;
  }
  Entry& entry = found->second;
  for (absl::Status status = BringUpToDate(task.job, entry.state); !status.ok();
       status = BringUpToDate(task.job, entry.state)) {
    spdlog::warn("a model cannot read its job and tries again: {}", std::string(status.message()));
    if (!Pause()) return std::nullopt;
  }
  if (!WantsSuggestion(entry.state)) return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  Suggested answer = entry.model(entry.state);
  if (timed_) timed_(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return answer;
}

}  // namespace winnow
