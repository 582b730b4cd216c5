#include "scheduler/pruners/learning_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "scheduler/pruners/curve_ensemble.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

// floor(2 log2(level)).
int Octave(int64_t level) {
  const auto wide = static_cast<uint64_t>(std::min<int64_t>(level, int64_t{1} << 31));
  return std::bit_width(wide * wide);
}

bool IsDue(const JobState& state, const TrialState& trial, const Reported& report) {
  const PrunerSettings& settings = state.spec().pruner;
  if (settings.min_chance <= 0 || state.closing() || trial.ended() || trial.kept || report.metric != 0)
    return false;
  if (report.resource < settings.warm_up_resource || report.resource != trial.curve.back().first)
    return false;
  const JobTotals& totals = state.totals();
  if (totals.completed + totals.pruned + totals.cancelled < settings.warm_up_trials) return false;
  if (static_cast<int64_t>(trial.curve.size()) < kLeastCurvePoints) return false;
  return Octave(report.resource) > Octave(trial.curve[trial.curve.size() - 2].first);
}

// Where the trial's training ends at the latest; 0: not known.
int64_t EndOf(const JobState& state, const TrialState& trial) {
  const SearchSpec& spec = state.spec();
  if (!HasRungs(spec.pruner.kind)) return spec.FullResource(trial.configuration);
  const int64_t own = spec.OwnEnd(trial.configuration);
  return own > 0 ? std::min(own, spec.pruner.rungs.max_resource) : spec.pruner.rungs.max_resource;
}

}  // namespace

std::optional<TrialEnded> StopByCurve(const JobState& state, const Reported& report) {
  const TrialState& trial = state.trial(report.trial);
  if (!IsDue(state, trial, report)) return std::nullopt;
  const int64_t end = EndOf(state, trial), now = report.resource;
  const auto best = state.best_trial();
  if (end <= now || !best || *best == trial.number) return std::nullopt;

  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  std::vector<std::pair<int64_t, double>> curve;
  ForEachCounted(trial.curve, state.spec().objective_value, [&](int64_t level, double value) {
    if (std::isfinite(value)) curve.emplace_back(level, sign * value);
  });
  if (static_cast<int64_t>(curve.size()) < kLeastCurvePoints || curve.back().first != now)
    return std::nullopt;
  const double bar = state.trial(*best).value;
  const CurvePrediction at_end = PredictCurve(curve, end, sign * bar);
  double chance = at_end.chance_above;
  if (state.spec().objective_value == ObjectiveValue::kBest)
    chance = std::max(chance, PredictCurve(curve, now + (end - now) / 2, sign * bar).chance_above);
  const double least = state.spec().pruner.min_chance;
  if (chance >= least) return std::nullopt;
  const std::string& metric = state.spec().objective_metric;
  return TrialEnded{trial.number, TrialEnd::kStopped,
                    "Learning curve: after " + metric + " = " + SixDigits(report.objective) +
                        " at resource " + std::to_string(now) + ", " + ThreeDigits(sign * at_end.mean) +
                        " ± " + ThreeDigits(at_end.deviation) + " is expected at resource " +
                        std::to_string(end) + "; the chance to beat the best so far, " + SixDigits(bar) +
                        ", is " + Percent(chance, 1) + ", below min_chance = " + Percent(least, 1) + "."};
}

std::vector<Decision> LearningCurvePruner::Follow(const JobState& state, const FactBody& newest) const {
  const auto* report = std::get_if<Reported>(&newest);
  if (report == nullptr) return {};
  auto stop = StopByCurve(state, *report);
  return stop ? std::vector<Decision>{*std::move(stop)} : std::vector<Decision>{};
}

}  // namespace winnow
