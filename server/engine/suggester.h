#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/task_threads.h"
#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"
#include "store/store.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What one job's model answers to a state; called with states that only move forward. Default:
// winnow::Suggest.
using Model = std::function<Suggested(const JobState&)>;
using ModelFactory = std::function<Model()>;

// To the search model of a job. It may be asked before the facts are committed; if they are rolled back, its
// answer is dropped (see `epoch`).
struct Question {
  int64_t job = 0;  // its key
  SearchSpec spec;
  std::vector<Fact> facts;  // the job's newest: all that are not committed yet, and often some before them
  int64_t epoch = 0;        // another after facts were rolled back
};

// An ended job, of which the trial to hand out is to be chosen (server/engine/answers/job_view.h).
struct ChoiceQuestion {
  std::string id;
  int64_t job = 0;  // its key
  v1::TuningJobSpec spec;
};

// A thread that asks the models of running jobs what to try next, so that no fit ever holds up the
// coordinator. It takes the newest facts from the question and reads the others over its own connection.
// Thread-safe.
class SuggestionThread {
 public:
  // The answer to a question; absent: the job's facts do not want one, or some are missing. Called on the
  // thread.
  using Answer = std::function<void(const Question& question, std::optional<Suggested> answer)>;
  // Told how long a model took for each of its answers, in seconds.
  using Timed = std::function<void(double)>;
  // Which trial the job hands out; absent: it has no best one. Called on the thread.
  using Chosen = std::function<void(const ChoiceQuestion& question, std::optional<v1::BestTrial> best)>;

  // REQUIRES the file is at the newest version.
  SuggestionThread(std::string file, ModelFactory make_model, Answer answer, Timed timed = nullptr,
                   Chosen chosen = nullptr);
  ~SuggestionThread() { Stop(); }

  // Asks the model of a job, from the question's facts and all before them; every question is answered once,
  // unless the thread is stopped before.
  void Ask(Question question);
  // Chooses the trial that an ended job hands out.
  void Choose(ChoiceQuestion question);
  // The job has ended: drops its model.
  void Forget(int64_t job);
  // Waits for the fit that is under way, if one is; what else was asked is dropped.
  void Stop() { thread_.Stop(); }

 private:
  struct Entry {
    JobState state;
    Model model;
    int64_t epoch;  // of the facts in `state`
  };

  std::optional<Suggested> Think(const Question& question);
  // The model of the question's job, with a state that has the question's facts; null: some are missing or
  // being removed, or the thread is being stopped.
  Entry* Know(const Question& question);
  // False: the thread is being stopped, or the rows of the job are being removed.
  bool CatchUp(int64_t job, JobState& state);
  absl::Status BringUpToDate(int64_t job, JobState& state);

  const std::string file_;
  const ModelFactory make_model_;
  const Answer answer_;
  const Timed timed_;
  const Chosen chosen_;
  std::unique_ptr<Store> store_;    // the thread's own
  std::map<int64_t, Entry> known_;  // the thread's own; by job
  TaskThreads thread_;
};

// Several of these threads. All questions about one job go to the same one, so that a job whose model is slow
// holds up a part of the other jobs only. Thread-safe; the functions are called on any of the threads.
class SuggestionThreads {
 public:
  // As many as the machine has processors, at least 1 and at most 8.
  static int BestCount();

  SuggestionThreads(int count, const std::string& file, const ModelFactory& make_model,
                    const SuggestionThread::Answer& answer, const SuggestionThread::Timed& timed = nullptr,
                    const SuggestionThread::Chosen& chosen = nullptr);

  void Ask(Question question) { Of(question.job).Ask(std::move(question)); }
  void Choose(ChoiceQuestion question) { Of(question.job).Choose(std::move(question)); }
  void Forget(int64_t job) { Of(job).Forget(job); }
  void Stop();

 private:
  SuggestionThread& Of(int64_t job) { return *threads_[static_cast<size_t>(job) % threads_.size()]; }

  std::vector<std::unique_ptr<SuggestionThread>> threads_;
};

}  // namespace winnow
