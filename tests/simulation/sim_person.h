#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulation/setting.h"
#include "tests/simulation/sim_server.h"

namespace winnow {

// A person who changes jobs while they run, at the times of their profiles: pauses them, raises and lowers
// limits, changes ranges and priorities, enqueues configurations, stops trials; and who continues some that
// have ended.
class SimPerson {
 public:
  // `ids` of the profile's jobs; "": its creation was not answered yet.
  SimPerson(Setting* setting, SimServer* server, const std::vector<std::string>* ids)
      : setting_(setting), server_(server), ids_(ids), continuations_(setting->profile.jobs.size()) {}

  void Begin();
  // Resumes paused jobs. The person changes nothing from now on, but continues jobs.
  void Heal();
  // REQUIRES: all jobs have ended. Asks for the continuation of those that are to be continued; true if there
  // are any.
  bool ContinuesOne();
  // The number of changes that the engine accepted.
  int64_t changes() const { return changes_; }

 private:
  struct Continuations {
    int64_t left = 0;
    bool asked = false;
  };

  void Change(size_t job);
  void Resume(size_t job);
  void Continue(size_t job);
  // Draws a change and asks the engine for it.
  void ChangeNow(Engine& engine, const std::string& id);
  // True: accepted. A refusal with any other code than INVALID_ARGUMENT and FAILED_PRECONDITION is a fault.
  bool Ask(Engine& engine, const v1::ChangeTuningJobRequest& request);

  Setting* const setting_;
  SimServer* const server_;
  const std::vector<std::string>* const ids_;
  std::vector<Continuations> continuations_;  // of the profile's jobs
  int64_t changes_ = 0;
};

}  // namespace winnow
