#include "scheduler/samplers/sampler.h"

#include <algorithm>
#include <set>

#include "scheduler/samplers/freeze_thaw.h"
#include "scheduler/samplers/gp.h"
#include "scheduler/samplers/grid.h"
#include "scheduler/samplers/priors.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sobol.h"
#include "scheduler/samplers/tpe.h"

namespace winnow {

namespace {

constexpr int64_t kMostRedraws = 200;  // then what is left of a finite space is looked through

// Absent: there are no priors, or their values break a constraint or were tried already.
std::optional<Suggestion> ValuesOfPriors(const JobState& state) {
  const Priors priors(state.space());
  if (priors.empty()) return std::nullopt;
  Configuration values = priors.Values();
  if (!state.space().Satisfies(values) || state.tried(values)) return std::nullopt;
  return Suggestion{std::move(values), "The values of the job's priors, and the middle of other ranges."};
}

// How many parameters have values that say nothing of one another.
int64_t Unordered(const SearchSpec& spec) {
  return std::count_if(spec.parameters.begin(), spec.parameters.end(), [](const Parameter& parameter) {
    const auto* range = std::get_if<CategoricalRange>(&parameter.range);
    return range != nullptr && !range->ordered && range->values.size() > 2;
  });
}

}  // namespace

const Sampler& SamplerOf(const SearchSpec& spec) {
  static const FreezeThawSampler freeze_thaw;
  return TraitsOf(spec.pruner.kind).asks_model ? freeze_thaw : ConfigurationSamplerOf(spec);
}

const Sampler& ConfigurationSamplerOf(const SearchSpec& spec) {
  static const RandomSampler random;
  static const SobolSampler sobol;
  static const GridSampler grid;
  static const TpeSampler tpe;
  static const GpSampler gp;
  switch (spec.sampler.kind) {
    case SamplerKind::kGp:
      return gp;
    case SamplerKind::kSobol:
      return sobol;
    case SamplerKind::kGrid:
      return grid;
    case SamplerKind::kTpe:
      return tpe;
    default:
      return random;
  }
}

std::optional<Suggestion> Sampler::Next(const JobState& state) const {
  if (!state.may_create()) return std::nullopt;
  const SearchSpec& spec = state.spec();
  const TrialNumber number = state.next_trial();
  // A range may have been changed, so that it leaves out what was to be tried first.
  const bool is_initial = number <= static_cast<int64_t>(spec.initial.size()) &&
                          (!state.ranges_changed() || state.space().Holds(spec.initial[number - 1]));
  if (is_initial) {
    return Suggestion{spec.initial[number - 1],
                      "Initial configuration " + std::to_string(number) + " of the job."};
  }
  if (number == static_cast<int64_t>(spec.initial.size()) + 1) {
    if (auto values = ValuesOfPriors(state)) return values;
  }
  for (int64_t redraw = 0; redraw < kMostRedraws; ++redraw) {
    auto suggestion = Draw(state, number, redraw);
    if (!suggestion || !state.tried(suggestion->configuration)) return suggestion;
  }
  return Suggestion{AnyConfiguration(state, number),
                    "One of the few configurations that were not tried yet."};
}

Suggested NewTrial(const JobState& state, Suggestion suggestion, std::vector<double> model) {
  return {state.next_trial(), std::move(suggestion.configuration), state.last_sequence(),
          std::move(suggestion.why), std::move(model)};
}

int64_t StartupTrials(const SearchSpec& spec) {
  if (spec.sampler.startup_trials > 0) return spec.sampler.startup_trials;
  const auto parameters = static_cast<int64_t>(spec.parameters.size());
  const bool partly = spec.pruner.rungs.max_resource > spec.pruner.rungs.min_resource;
  if (TraitsOf(spec.pruner.kind).asks_model && partly) return std::min<int64_t>(3 * parameters + 4, 40);
  if (spec.has_several_objectives() && spec.sampler.kind == SamplerKind::kGp)
    return std::clamp<int64_t>(Unordered(spec) + 1, 4, 20);
  return std::clamp<int64_t>(parameters + 1, 4, 20);
}

bool StartsUp(const JobState& state, TrialNumber number) {
  const SearchSpec& spec = state.spec();
  const int64_t startup = StartupTrials(spec);
  // A paused trial at the lowest rung costs little, and shows whether earlier results can be trusted.
  const bool cheap = TraitsOf(spec.pruner.kind).asks_model;
  const auto earlier =
      std::min(static_cast<int64_t>(state.earlier_results().size()), cheap ? startup / 2 : startup);
  const JobTotals& totals = state.totals();
  const int64_t results = totals.completed + totals.pruned + totals.cancelled + totals.paused + earlier;
  const int64_t sampled = number - static_cast<int64_t>(spec.initial.size());
  return results < startup || sampled + earlier <= startup;
}

std::vector<int64_t> RungLevels(const JobState& state) {
  std::set<int64_t> levels;
  for (const BracketState& bracket : state.brackets()) {
    for (const RungState& rung : bracket.rungs) levels.insert(rung.resource);
  }
  return {levels.begin(), levels.end()};
}

}  // namespace winnow
