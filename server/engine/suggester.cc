#include "server/engine/suggester.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/status_text.h"
#include "scheduler/suggest.h"
#include "server/engine/answers/job_view.h"
#include "spec/search_spec.h"

namespace winnow {
namespace {

// Between two tries to read the tables when that fails.
constexpr std::chrono::seconds kReadAgainAfter{1};
constexpr int kMostThreads = 8;

Model RealModel() { return Suggest; }

}  // namespace

SuggestionThread::SuggestionThread(std::string file, ModelFactory make_model, Answer answer, Timed timed,
                                   Chosen chosen)
    : file_(std::move(file)),
      make_model_(make_model ? std::move(make_model) : RealModel),
      answer_(std::move(answer)),
      timed_(std::move(timed)),
      chosen_(std::move(chosen)) {}

void SuggestionThread::Ask(Question question) {
  thread_.Post([this, question = std::move(question)] { answer_(question, Think(question)); });
}

void SuggestionThread::Forget(int64_t job) {
  thread_.Post([this, job] { known_.erase(job); });
}

absl::Status SuggestionThread::BringUpToDate(int64_t job, JobState& state) {
  if (store_ == nullptr) {
    absl::StatusOr<std::unique_ptr<Store>> store = Store::OpenReadOnly(file_);
    if (!store.ok()) return store.status();
    store_ = *std::move(store);
  }
  absl::StatusOr<std::vector<Fact>> facts = store_->facts.Load(job, state.last_sequence());
  if (!facts.ok()) return facts.status();
  for (const Fact& fact : *facts) {
    if (!state.Contradiction(fact).empty()) return absl::NotFoundError("the job is being removed");
    state.Apply(fact);
  }
  return absl::OkStatus();
}

bool SuggestionThread::CatchUp(int64_t job, JobState& state) {
  for (absl::Status status = BringUpToDate(job, state); !status.ok(); status = BringUpToDate(job, state)) {
    if (absl::IsNotFound(status)) return false;
    spdlog::warn("a model cannot read its job and tries again: {}", MessageOf(status));
    if (thread_.WaitForStop(kReadAgainAfter)) return false;
  }
  return true;
}

void SuggestionThread::Choose(ChoiceQuestion question) {
  thread_.Post([this, question = std::move(question)] {
    JobState state(ToSearchSpec(question.spec));
    if (CatchUp(question.job, state)) chosen_(question, HandedOut(state, question.spec));
  });
}

SuggestionThread::Entry* SuggestionThread::Know(const Question& question) {
  auto found = known_.find(question.job);
  if (found != known_.end() && found->second.epoch != question.epoch) {
    known_.erase(found);  // it may have facts that were rolled back
    found = known_.end();
  }
  if (found == known_.end()) {
    found = known_.emplace(question.job, Entry{JobState(question.spec), make_model_(), question.epoch}).first;
  }
  JobState& state = found->second.state;
  const auto follows = [&] {
    return !question.facts.empty() && question.facts.front().sequence <= state.last_sequence() + 1;
  };
  if (!follows() && !CatchUp(question.job, state)) return nullptr;
  if (question.facts.empty()) return &found->second;
  if (!follows()) return nullptr;
  for (const Fact& fact : question.facts) {
    if (fact.sequence > state.last_sequence()) state.Apply(fact);
  }
  return &found->second;
}

std::optional<Suggested> SuggestionThread::Think(const Question& question) {
  Entry* const entry = Know(question);
  if (entry == nullptr || !WantsSuggestion(entry->state)) return std::nullopt;
  const auto begin = std::chrono::steady_clock::now();
  Suggested answer = entry->model(entry->state);
  if (timed_) timed_(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return answer;
}

int SuggestionThreads::BestCount() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

SuggestionThreads::SuggestionThreads(int count, const std::string& file, const ModelFactory& make_model,
                                     const SuggestionThread::Answer& answer,
                                     const SuggestionThread::Timed& timed,
                                     const SuggestionThread::Chosen& chosen) {
  for (int i = 0; i < count; ++i)
    threads_.push_back(std::make_unique<SuggestionThread>(file, make_model, answer, timed, chosen));
}

void SuggestionThreads::Stop() {
  for (const auto& thread : threads_) thread->Stop();
}

}  // namespace winnow
