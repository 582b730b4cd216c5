#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/task_threads.h"
#include "cli/session/session.h"
#include "winnow/v1/tuning.pb.h"
#include "winnow/v1/webhooks.pb.h"

namespace winnow::cli {

// Runs a shell command for each event of a job that webhooks would get (winnow.v1.Event). The commands run
// one at a time, in the order of the events, each with the event as JSON on its standard input, and
// WINNOW_EVENT, WINNOW_JOB, WINNOW_STATE, WINNOW_TRIAL and WINNOW_VALUE in its environment. What it prints
// goes to standard error. Owner: the thread that watches.
class EventCommand {
 public:
  // `command` empty: nothing is run. `job`: as the watch begins. `session` outlives it.
  EventCommand(Session& session, std::string command, const v1::TuningJob& job);
  // Waits until the command was run for all events.
  ~EventCommand();

  // The job as it is now, and the event after which it is so, if one is known.
  void Look(const v1::TuningJob& job, const v1::TuningJobEvent* after = nullptr);
  // Runs nothing more, and ends what runs.
  void Abandon();

 private:
  void Tell(v1::Event::Kind kind, const v1::TuningJob& job, const std::string& text);
  void Run(const v1::Event& event);
  void PrintFailures();

  Session& session_;
  const std::string command_;
  std::optional<double> best_;
  bool ended_ = false;
  Mutex mutex_;
  pid_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> failures_ ABSL_GUARDED_BY(mutex_);  // not printed yet
  std::optional<TaskThreads> thread_{std::in_place};
};

}  // namespace winnow::cli
