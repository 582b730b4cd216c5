#include "scheduler/suggest.h"

#include "scheduler/pruners/freeze_thaw_choice.h"
#include "scheduler/random.h"
#include "scheduler/samplers/random.h"

namespace winnow {
namespace {

constexpr int64_t kMostRedraws = 200;  // then what is left of a finite space is looked through

// Whether any of its trials may come from a model.
bool HasModel(const SearchSpec& spec) {
  return spec.sampler.kind == SamplerKind::kGp || spec.sampler.kind == SamplerKind::kTpe;
}

}  // namespace

Configuration AnyConfiguration(const JobState& state, TrialNumber number) {
  const int64_t size = state.space().size();
  if (size == 0) return RandomConfiguration(state.spec(), state.space(), number);
  const auto first =
      static_cast<int64_t>(RandomBits(state.spec().seed, number, Purpose::kConfiguration, 1ull << 40) %
                           static_cast<uint64_t>(size));
  for (int64_t i = 0;; ++i) {
    Configuration configuration = state.space().Nth((first + i) % size);
    if (!state.tried(configuration)) return configuration;
  }
}

bool MayCreate(const JobState& state) {
  const auto created = static_cast<int64_t>(state.trials().size());
  const int64_t planned = state.table().trial_count();  // 0: any number
  return (state.most_trials() == 0 || created < state.most_trials()) && (planned == 0 || created < planned) &&
         !state.exhausted();
}

std::optional<Suggestion> DrawNext(const JobState& state) {
  if (!MayCreate(state)) return std::nullopt;
  const SearchSpec& spec = state.spec();
  const auto number = static_cast<TrialNumber>(state.trials().size()) + 1;
  if (number <= static_cast<int64_t>(spec.initial.size())) {
    return Suggestion{spec.initial[number - 1],
                      "Initial configuration " + std::to_string(number) + " of the job."};
  }
  for (int64_t redraw = 0; redraw < kMostRedraws; ++redraw) {
    auto suggestion = SamplerOf(spec).Draw(state, number, redraw);
    if (!suggestion || !state.tried(suggestion->configuration)) return suggestion;
  }
  return Suggestion{AnyConfiguration(state, number),
                    "One of the few configurations that were not tried yet."};
}

bool WantsSuggestion(const JobState& state) {
  const Limits& limits = state.spec().limits;
  if (state.ended() || state.closing() || state.suggestion() || !state.pending().empty()) return false;
  if (limits.max_parallel_trials > 0 && state.totals().live_attempts >= limits.max_parallel_trials)
    return false;
  if (state.spec().pruner.kind == PrunerKind::kFreezeThaw)
    return MayCreate(state) || state.totals().paused > 0;
  return HasModel(state.spec()) && MayCreate(state) && !DrawNext(state);
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
