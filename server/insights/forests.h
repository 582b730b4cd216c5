#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "insight/importance.h"

namespace winnow {

// A forest over a job's trials that pass some filters.
struct ForestQuestion {
  int64_t job = 0;      // its key
  std::string filters;  // as one text: equal texts select equal trials
  int64_t level = 0;    // the level of the comparison
  std::shared_ptr<const ForestTask> task;
};

struct SolvedForest {
  std::shared_ptr<const ForestTask> task;
  ForestAnswer answer;
};

// A thread that fits forests and keeps the newest, until the number of trials with a value has changed by
// some per cent. Thread-safe.
class Forests {
 public:
  Forests();
  // Answers queued requests with null.
  ~Forests();

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
  };
  struct Job {
    ForestQuestion question;
    std::function<bool()> gone;
    Done done;
  };
  std::shared_ptr<const SolvedForest> Find(const ForestQuestion& question);
  void Keep(const ForestQuestion& question, std::shared_ptr<const SolvedForest> solved);
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<Kept> kept_;   // newest use first; guarded by mutex_
  std::deque<Job> queue_;  // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace winnow
