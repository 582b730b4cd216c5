#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// A configuration and, in one sentence, why it was chosen.
struct Suggestion {
  Configuration configuration;
  std::string why;
};

// Decides what to try next: const functions of the recorded facts.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // The configuration of trial `number`, the next one, without asking a model; absent: the model has to be
  // asked. Each `redraw` 0, 1, 2… gives another configuration, to replace those that were tried before.
  virtual std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const = 0;

  // The next new trial without asking a model: first the user's own configurations, then the values of
  // priors, then what Draw gives; on a finite space no configuration twice. Absent: no further trial may be
  // created, or the model has to be asked.
  virtual std::optional<Suggestion> Next(const JobState& state) const;

  // Whether a free slot needs the model's answer.
  virtual bool NeedsModel(const JobState&) const { return false; }

  // The model's answer: a new trial, or for some samplers a paused trial that goes on. Takes milliseconds:
  // never on the coordinator's thread. REQUIRES NeedsModel(state).
  virtual Suggested Suggest(const JobState&) const { return {}; }
};

// The sampler of a job.
const Sampler& SamplerOf(const SearchSpec& spec);
// The sampler named by spec.sampler. It gives the configurations of new trials, also where another sampler
// decides between new trials and paused ones.
const Sampler& ConfigurationSamplerOf(const SearchSpec& spec);

// The answer that starts the next new trial with this configuration. `model`: as in Suggested.
Suggested NewTrial(const JobState& state, Suggestion suggestion, std::vector<double> model = {});

// How many Sobol points come before the model is asked: spec.sampler.startup_trials, or by default one more
// than there are parameters, at least 4 and at most 20. With several objectives the GP finds more than points
// do from the first on, unless categories say nothing of one another: one more than there are parameters of
// more than two unordered categories, at least 4 and at most 20, with the centre as the first. FREEZE_THAW
// trains them only a little (if there is more than one rung), so there the default is three times the
// parameters plus 4, at most 40.
int64_t StartupTrials(const SearchSpec& spec);

// Whether trial `number` is still one of these: too few trials have begun or have a result, counting earlier
// results: under FREEZE_THAW at most half as many as these.
bool StartsUp(const JobState& state, TrialNumber number);

// The resource levels of the rungs of all brackets, rising; without a pruner that has rungs, none.
std::vector<int64_t> RungLevels(const JobState& state);

}  // namespace winnow
