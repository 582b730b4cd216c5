#pragma once

#include <optional>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Where a new trial starts, and how far it may go first.
struct Opening {
  int64_t bracket = -1;
  int64_t rung = 0;
  int64_t to = 0;
};

// Decides how far each trial may go: const functions of the recorded facts.
class Pruner {
 public:
  virtual ~Pruner() = default;

  // For the next trial, which will have this configuration. Absent: the pruner's plan has no further trial.
  virtual std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const = 0;

  // A slot is free and no trial waits for one: the paused trial that goes on before a new one is started.
  virtual std::optional<TrialResumed> Promote(const JobState&) const { return std::nullopt; }

  // After a part was trained as far as it goes: a pause or the trial's end.
  virtual Decision PartFinished(const JobState& state, const TrialState& trial) const = 0;

  // After any fact but an attempt's end: what the pruner has to add.
  virtual std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const = 0;

  // Nothing is left to do (CompletionMet): why a trial that is still paused ends; "": for that reason alone.
  virtual std::string EndOfPaused(const JobState&, const TrialState&) const { return ""; }
};

const Pruner& PrunerOf(const SearchSpec& spec);

}  // namespace winnow
