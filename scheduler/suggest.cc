#include "scheduler/suggest.h"

#include "scheduler/samplers/freeze_thaw.h"
#include "scheduler/samplers/random.h"

namespace winnow {
namespace {

// Whether any of its trials may come from a model.
bool HasModel(const SearchSpec& spec) {
  return spec.sampler.kind == SamplerKind::kGp || spec.sampler.kind == SamplerKind::kTpe;
}

}  // namespace

bool WantsSuggestion(const JobState& state) {
  const Limits& limits = state.spec().limits;
  if (state.ended() || state.closing() || state.suggestion() || !state.pending().empty()) return false;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts >= limits.max_parallel_trials)
    return false;
  if (state.spec().pruner.kind == PrunerKind::kFreezeThaw)
    return state.may_create() || state.totals().paused > 0;
  return HasModel(state.spec()) && state.may_create() && !DrawNext(state);
}

Suggested Suggest(const JobState& state) {
  const auto number = static_cast<TrialNumber>(state.trials().size()) + 1;
  Suggested answer;
  if (state.spec().pruner.kind == PrunerKind::kFreezeThaw) {
    answer = ChooseFreezeThaw(state);
  } else {
    Suggestion suggestion = SamplerOf(state.spec()).Suggest(state, number);
    answer = {number, std::move(suggestion.configuration), state.last_sequence(), std::move(suggestion.why),
              std::move(suggestion.model)};
  }
  if (!answer.configuration.empty() && state.tried(answer.configuration)) {
    answer.configuration = AnyConfiguration(state, number);
    answer.why = "What the model prefers was tried already: another configuration.";
  }
  return answer;
}

}  // namespace winnow
