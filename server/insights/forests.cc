#include "server/insights/forests.h"

#include <algorithm>

namespace winnow {
namespace {

// A forest has some MiB.
constexpr size_t kMostKept = 16;
// Relative change in the number of trials up to which a forest is kept.
constexpr double kStale = 0.03;

}  // namespace

std::shared_ptr<const SolvedForest> Forests::Find(const ForestQuestion& question) {
  MutexLock lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
    return kept.job == question.job && kept.filters == question.filters && kept.level == question.level;
  });
  if (found == kept_.end()) return nullptr;
  const auto then = static_cast<double>(found->solved->task->scored),
             now = static_cast<double>(question.task->scored);
  if (found->range_changes != question.range_changes || std::abs(now - then) > kStale * then) {
    kept_.erase(found);
    return nullptr;
  }
  kept_.splice(kept_.begin(), kept_, found);
  return found->solved;
}

void Forests::Keep(const ForestQuestion& question, std::shared_ptr<const SolvedForest> solved) {
  MutexLock lock(mutex_);
  kept_.push_front(
      {question.job, question.filters, question.level, std::move(solved), question.range_changes});
  if (kept_.size() > kMostKept) kept_.pop_back();
}

void Forests::Ask(ForestQuestion question, std::function<bool()> gone, Done done) {
  if (std::shared_ptr<const SolvedForest> solved = Find(question)) return done(std::move(solved));
  thread_.Post([this, question = std::move(question), gone = std::move(gone), done = std::move(done)] {
    done(Fit(question, gone));
  });
}

std::shared_ptr<const SolvedForest> Forests::Fit(const ForestQuestion& question,
                                                 const std::function<bool()>& gone) {
  if (thread_.stopping() || gone()) return nullptr;
  // It may have been fitted for another request in the meantime.
  if (std::shared_ptr<const SolvedForest> solved = Find(question)) return solved;
  auto fresh = std::make_shared<SolvedForest>();
  fresh->task = question.task;
  fresh->answer = Solve(*fresh->task, gone);
  if (gone()) return nullptr;
  Keep(question, fresh);
  return fresh;
}

}  // namespace winnow
