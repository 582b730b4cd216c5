#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "base/task_threads.h"
#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"
#include "store/store.h"

namespace winnow {

// What one job's model answers to a state; called with states that only move forward. Default:
// winnow::Suggest.
using Model = std::function<Suggested(const JobState&)>;
using ModelFactory = std::function<Model()>;

// A thread that asks the models of running jobs what to try next. It reads committed facts over its own
// connection, so that no fit ever holds up the coordinator. Thread-safe.
class SuggestionThread {
 public:
  // The answer for a job, by key; absent: its committed facts do not want one. Called on the thread.
  using Answer = std::function<void(int64_t job, std::optional<Suggested> answer)>;
  // Told how long a model took for each of its answers, in seconds.
  using Timed = std::function<void(double)>;

  // REQUIRES the file is at the newest version.
  SuggestionThread(std::string file, ModelFactory make_model, Answer answer, Timed timed = nullptr);
  ~SuggestionThread() { Stop(); }

  // Asks the model of a job, from all that is committed by now; every question is answered once, unless the
  // thread is stopped before.
  void Ask(int64_t job, SearchSpec spec);
  // The job has ended: drops its model.
  void Forget(int64_t job);
  // Waits for the fit that is under way, if one is; what else was asked is dropped.
  void Stop() { thread_.Stop(); }

 private:
  struct Entry {
    JobState state;
    Model model;
  };

  std::optional<Suggested> Think(int64_t job, const SearchSpec& spec);
  absl::Status BringUpToDate(int64_t job, JobState& state);

  const std::string file_;
  const ModelFactory make_model_;
  const Answer answer_;
  const Timed timed_;
  std::unique_ptr<Store> store_;    // the thread's own
  std::map<int64_t, Entry> known_;  // the thread's own; by job
  TaskThreads thread_;
};

}  // namespace winnow
