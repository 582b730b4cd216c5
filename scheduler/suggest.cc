#include "scheduler/suggest.h"

#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sampler.h"

namespace winnow {

std::optional<Opening> OpeningOfQueued(const JobState& state) {
  if (state.ended() || state.closing() || state.queue().empty() || !state.may_create()) return std::nullopt;
  const SearchSpec& spec = state.spec();
  const TrialNumber own = static_cast<TrialNumber>(spec.initial.size()) + (HasPriors(spec) ? 1 : 0);
  if (state.next_trial() <= own) return std::nullopt;
  return PrunerOf(spec).Open(state, state.queue().front().configuration);
}

bool WantsSuggestion(const JobState& state) {
  const Limits& limits = state.spec().limits;
  if (state.ended() || state.closing() || state.suggestion() || !state.pending().empty()) return false;
  if (state.paused() || OpeningOfQueued(state)) return false;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts >= limits.max_parallel_trials)
    return false;
  return SamplerOf(state.spec()).NeedsModel(state);
}

Suggested Suggest(const JobState& state) {
  Suggested answer = SamplerOf(state.spec()).Suggest(state);
  if (!answer.configuration.empty() && state.tried(answer.configuration)) {
    answer.configuration = AnyConfiguration(state, state.next_trial());
    answer.why = "What the model prefers was tried already: another configuration.";
  }
  return answer;
}

}  // namespace winnow
