#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "base/task_threads.h"
#include "insight/importance.h"

namespace winnow {

// A forest over a job's trials that pass some filters.
struct ForestQuestion {
  int64_t job = 0;      // its key
  std::string filters;  // as one text: equal texts select equal trials
  int64_t level = 0;    // the level of the comparison
  std::shared_ptr<const ForestTask> task;
  size_t range_changes = 0;  // that the task's ranges have
};

struct SolvedForest {
  std::shared_ptr<const ForestTask> task;
  ForestAnswer answer;
};

// A thread that fits forests and keeps the newest, until a range is changed, or the number of trials with a
// value has changed by some per cent. The destructor answers queued requests with null. Thread-safe.
class Forests {
 public:
  using Done = std::function<void(std::shared_ptr<const SolvedForest>)>;
  // Calls `done` once: at once with a kept forest, otherwise from the thread. Null: `gone`, polled until the
  // forest is fitted, was true, or this is being destroyed.
  void Ask(ForestQuestion question, std::function<bool()> gone, Done done);

 private:
  struct Kept {
    int64_t job;
    std::string filters;
    int64_t level;
    std::shared_ptr<const SolvedForest> solved;
    size_t range_changes;
  };
  std::shared_ptr<const SolvedForest> Find(const ForestQuestion& question);
  void Keep(const ForestQuestion& question, std::shared_ptr<const SolvedForest> solved);
  std::shared_ptr<const SolvedForest> Fit(const ForestQuestion& question, const std::function<bool()>& gone);

  Mutex mutex_;
  std::list<Kept> kept_ ABSL_GUARDED_BY(mutex_);  // newest use first
  TaskThreads thread_;
};

}  // namespace winnow
