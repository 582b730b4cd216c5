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
  std::vector<double> model = {};  // as in Suggested
};

// Decides what to try next: const functions of the recorded facts and the number of the trial that is about
// to be created.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // At once; absent: the model has to be asked. Each `redraw` 0, 1, 2… gives another one, for those that were
  // tried before.
  virtual std::optional<Suggestion> Draw(const JobState& state, TrialNumber number, int64_t redraw) const = 0;

  // From the model; takes milliseconds: never on the coordinator's thread. REQUIRES Draw gives none for
  // redraw 0.
  virtual Suggestion Suggest(const JobState& state, TrialNumber number) const;
};

const Sampler& SamplerOf(const SearchSpec& spec);

// What to try next without asking a model: the user's own configurations first, then the sampler's; on a finite space
// nothing twice. Absent: no further trial may be created, or a model has to be asked.
std::optional<Suggestion> DrawNext(const JobState& state);

// How many Sobol points come before a model is asked: spec.sampler.startup_trials, or by default one more
// than there are parameters, but at least 4 and at most 20; under FREEZE_THAW, which trains them but a
// little, 4 more than three times as many, at most 40.
int64_t StartupTrials(const SearchSpec& spec);

// Whether trial `number` is still one of those: so few are begun, or have a result, priors included.
bool StartsUp(const JobState& state, TrialNumber number);

// The resource levels of the rungs of all brackets, rising; without a pruner that has rungs, none.
std::vector<int64_t> RungLevels(const JobState& state);

}  // namespace winnow
