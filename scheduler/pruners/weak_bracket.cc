#include "scheduler/pruners/weak_bracket.h"

#include <algorithm>
#include <cmath>

#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

// The survivors of a bracket's cut at the resource.
struct Survivors {
  int64_t bracket = 0;
  std::vector<double> keys;  // less is better; the best first
};

// Empty: the bracket has no cut rung there.
std::vector<double> SurvivorsOf(const JobState& state, const BracketState& bracket, int64_t resource) {
  std::vector<double> keys;
  const double sign = state.spec().goal == Goal::kMaximize ? -1 : 1;
  for (const RungState& rung : bracket.rungs) {
    if (rung.resource != resource) continue;
    for (const TrialNumber number : rung.survivors) {
      const auto value = state.trial(number).counted_at(resource, state.spec().objective_value);
      if (value && std::isfinite(*value)) keys.push_back(sign * *value);
    }
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

bool HasUnended(const JobState& state, const BracketState& bracket) {
  for (const RungState& rung : bracket.rungs) {
    for (TrialNumber number : rung.entered) {
      if (!state.trial(number).ended() && !state.trial(number).beside) return true;
    }
  }
  return false;
}

}  // namespace

double ChanceBehind(int64_t survivors, int64_t others, int64_t ahead) {
  double chance = 1;
  for (int64_t i = 0; i < ahead; ++i) {
    chance *= static_cast<double>(others - i) / static_cast<double>(survivors + others - i);
  }
  return chance;
}

std::vector<BracketEnded> WeakBrackets(const JobState& state, const RungCut& cut) {
  const PrunerSettings& settings = state.spec().pruner;
  if (!settings.stop_weak_brackets) return {};
  std::vector<Survivors> all;
  int64_t total = 0, newest = 0;
  const auto opened = static_cast<int64_t>(state.brackets().size());
  for (int64_t b = std::max<int64_t>(0, cut.bracket - kWindow);
       b < std::min(opened, cut.bracket + kWindow + 1); ++b) {
    Survivors survivors{b, SurvivorsOf(state, state.brackets()[b], cut.resource)};
    const auto count = static_cast<int64_t>(survivors.keys.size());
    total += count;
    if (b == cut.bracket) newest = count;
    if (count > 0) all.push_back(std::move(survivors));
  }

  const auto best = state.leading_trial();
  const int64_t brackets_cut = std::max<int64_t>(1, state.table().cycle_size() - 1);
  std::vector<BracketEnded> weak;
  for (const Survivors& own : all) {
    const BracketState& bracket = state.brackets()[own.bracket];
    const auto k = static_cast<int64_t>(own.keys.size());
    const int64_t looks = std::max<int64_t>(1, bracket.plan.s) * brackets_cut;
    const double level = settings.weak_bracket_level / static_cast<double>(looks);
    const auto enough = [&](int64_t others) {
      return others >= kLeastOthers && ChanceBehind(k, others, others) <= level;
    };
    const int64_t m = total - k;
    const bool first = own.bracket == cut.bracket || !enough(m - newest);
    if (bracket.ended || !first || !enough(m)) continue;
    if (best && state.trial(*best).bracket == own.bracket) continue;
    int64_t ahead = 0;
    for (const Survivors& other : all) {
      if (other.bracket == own.bracket) continue;
      ahead += std::lower_bound(other.keys.begin(), other.keys.end(), own.keys[0]) - other.keys.begin();
    }
    const double chance = ChanceBehind(k, m, ahead);
    if (chance > level || !HasUnended(state, bracket)) continue;
    const double value = state.spec().goal == Goal::kMaximize ? -own.keys[0] : own.keys[0];
    weak.push_back(
        {own.bracket, "Weak bracket: bracket " + std::to_string(own.bracket + 1) +
                          " (s = " + std::to_string(bracket.plan.s) + "): at resource " +
                          std::to_string(cut.resource) + " the best of its " + std::to_string(k) +
                          " survivors has " + state.spec().objective_metric + " = " + SixDigits(value) +
                          ", behind " + std::to_string(ahead) + " of the " + std::to_string(m) +
                          " survivors of other brackets; were it no worse, the chance of that would be " +
                          Percent(chance, 2) + ", and at most " + Percent(level, 2) + " ends it."});
  }
  return weak;
}

}  // namespace winnow
