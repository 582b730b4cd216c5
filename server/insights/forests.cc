#include "server/insights/forests.h"

#include <algorithm>

namespace winnow {
namespace {

// A forest has some MiB.
constexpr size_t kMostKept = 16;
// Relative change in the number of trials up to which a forest is kept.
constexpr double kStale = 0.03;

}  // namespace

Forests::Forests() : thread_([this] { Run(); }) {}

Forests::~Forests() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

std::shared_ptr<const SolvedForest> Forests::Find(const ForestQuestion& question) {
  std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.job == question.job && kept.filters == question.filters && kept.level == question.level;
  });
  if (found == kept_.end()) return nullptr;
  const auto then = static_cast<double>(found->solved->task->scored),
             now = static_cast<double>(question.task->scored);
  if (std::abs(now - then) > kStale * then) {
    kept_.erase(found);
    return nullptr;
  }
  kept_.splice(kept_.begin(), kept_, found);
  return found->solved;
}

void Forests::Keep(const ForestQuestion& question, std::shared_ptr<const SolvedForest> solved) {
  std::lock_guard lock(mutex_);
  kept_.push_front({question.job, question.filters, question.level, std::move(solved)});
  if (kept_.size() > kMostKept) kept_.pop_back();
}

void Forests::Ask(ForestQuestion question, std::function<bool()> gone, Done done) {
  if (std::shared_ptr<const SolvedForest> solved = Find(question)) return done(std::move(solved));
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(question), std::move(gone), std::move(done)});
  }
  wake_.notify_one();
}

void Forests::Run() {
  while (true) {
    Job job;
    bool stopping = false;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      job = std::move(queue_.front());
      queue_.pop_front();
      stopping = stopping_;
    }
    // It may have been fitted for another request in the meantime.
    std::shared_ptr<const SolvedForest> solved = stopping || job.gone() ? nullptr : Find(job.question);
    if (solved == nullptr && !stopping && !job.gone()) {
      auto fresh = std::make_shared<SolvedForest>();
      fresh->task = job.question.task;
      fresh->answer = Solve(*fresh->task, job.gone);
      if (!job.gone()) {
        Keep(job.question, fresh);
        solved = std::move(fresh);
      }
    }
    job.done(std::move(solved));
  }
}

}  // namespace winnow
