#include "scheduler/completion.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "scheduler/space/rounded.h"
#include "scheduler/space/space.h"

namespace winnow {
namespace {

constexpr int64_t kLeastTrials = 20;  // ended with an objective, before convergence is spoken of
constexpr int64_t kLeastSpacings = 5;
constexpr int64_t kBestQuarter = 4;

double Sign(const JobState& state) { return state.spec().goal == Goal::kMaximize ? -1 : 1; }

std::string Named(const JobState& state, double value) {
  return state.spec().objective_metric + " = " + SixDigits(value);
}

// Whether a trial that has not ended is more than `tolerance` better than the key `best`: survivors of a
// rung's cut are, of which only the losers have ended.
bool IsBettered(const JobState& state, double best, double tolerance) {
  const auto number = state.leading_trial();
  if (!number || state.trial(*number).ended()) return false;
  return Sign(state) * state.trial(*number).value < best - tolerance * std::abs(best);
}

// Whether it is known that the trial satisfies all constraints.
bool SatisfiesConstraints(const JobState& state, const TrialState& trial) {
  return trial.violation == 0 && KnowsConstraints(state.spec(), trial);
}

std::optional<CompletionMet> Target(const JobState& state, const Reported& report) {
  const auto& target = state.spec().completion.target_objective;
  if (!target || state.spec().objective_value != ObjectiveValue::kBest || report.metric != 0)
    return std::nullopt;
  if (!SatisfiesConstraints(state, state.trial(report.trial))) return std::nullopt;
  if (!(Sign(state) * report.objective <= Sign(state) * *target)) return std::nullopt;
  // A second report of a level does not count.
  const auto counted = state.trial(report.trial).curve.at(report.resource);
  if (!std::isfinite(report.objective) || counted != report.objective) return std::nullopt;
  return CompletionMet{"The target is reached: trial " + std::to_string(report.trial) + " reported " +
                       Named(state, report.objective) + " at resource " + std::to_string(report.resource) +
                       "; target_objective is " + DoubleToString(*target) + "."};
}

// Where the last value or the mean counts: a trial that was trained part of the way has neither.
std::optional<CompletionMet> Target(const JobState& state, const TrialEnded& ended) {
  const auto& target = state.spec().completion.target_objective;
  // Where the best value counts, a report has met the rule, unless a constraint was known only later.
  const bool at_end =
      state.spec().objective_value != ObjectiveValue::kBest || !state.spec().metric_constraints.empty();
  if (!target || !at_end || ended.end != TrialEnd::kCompleted) return std::nullopt;
  const TrialState& trial = state.trial(ended.trial);
  if (!SatisfiesConstraints(state, trial)) return std::nullopt;
  if (trial.value_resource == 0 || !(Sign(state) * trial.value <= Sign(state) * *target)) return std::nullopt;
  const bool mean = state.spec().objective_value == ObjectiveValue::kMean;
  return CompletionMet{
      "The target is reached: trial " + std::to_string(ended.trial) + " has completed with " +
      Named(state, trial.value) + (mean ? " on average up to" : " at") + " resource " +
      std::to_string(trial.value_resource) + "; target_objective is " + DoubleToString(*target) + "."};
}

std::optional<CompletionMet> OnlyFailures(const JobState& state) {
  const int64_t first = state.failures().awaited();
  if (first == 0) return std::nullopt;
  const auto begin = state.trials().begin(), end = begin + first;
  const auto failed = [](const TrialState& trial) { return trial.phase == TrialPhase::kFailed; };
  if (!std::all_of(begin, end, failed)) return std::nullopt;
  const auto told =
      std::find_if(begin, end, [&state](const auto& trial) { return !state.FailedByMachines(trial); });
  return CompletionMet{(first == 1 ? std::string("The first trial")
                                   : "All of the first " + std::to_string(first) + " trials") +
                       " failed before any had reported a value of " + state.spec().objective_metric +
                       " (limits.max_first_failures is " +
                       std::to_string(state.spec().limits.max_first_failures) + "). Trial " +
                       std::to_string(told->number) + " failed: " + told->reason};
}

std::optional<CompletionMet> TargetHypervolume(const JobState& state) {
  const auto& target = state.spec().completion.target_hypervolume;
  if (!target) return std::nullopt;
  const double volume = state.front_hypervolume();
  if (volume < *target) return std::nullopt;
  return CompletionMet{"The target is reached: the Pareto front of " + std::to_string(state.front().size()) +
                       (state.front().size() == 1 ? " trial" : " trials") + " has the hypervolume " +
                       SixDigits(volume, *target) + "; target_hypervolume is " + DoubleToString(*target) +
                       "."};
}

std::optional<CompletionMet> NoImprovement(const JobState& state) {
  const Completion& rules = state.spec().completion;
  const CompletionIndex& index = state.completion_index();
  const int64_t before = index.ended() - rules.no_improvement_trials;
  if (rules.no_improvement_trials == 0 || before < 1) return std::nullopt;
  const double best = index.BestOfFirst(before);
  if (!std::isfinite(best)) return std::nullopt;
  if (index.BestOfFirst(index.ended()) < best - rules.no_improvement_tolerance * std::abs(best))
    return std::nullopt;
  if (IsBettered(state, best, rules.no_improvement_tolerance)) return std::nullopt;
  return CompletionMet{"No improvement: the last " + std::to_string(rules.no_improvement_trials) +
                       " trials that ended did not improve on " +
                       (state.spec().has_several_objectives() ? "the hypervolume " + SixDigits(-best)
                                                              : Named(state, Sign(state) * best)) +
                       " by more than " + ThreeDigits(100 * rules.no_improvement_tolerance) + " %."};
}

std::optional<CompletionMet> Convergence(const JobState& state) {
  const double tolerance = state.spec().completion.convergence_tolerance;
  const OrderedSums& keys = state.completion_index().keys();
  if (tolerance == 0 || keys.size() < kLeastTrials) return std::nullopt;
  const int64_t spacings = std::max(kLeastSpacings, keys.size() / kBestQuarter);
  // The sum of i (y_i+1 - y_i) over i = 1..k is k y_k+1 - (y_1 + … + y_k).
  const double scale = keys.Nth(spacings) - keys.SumOfLeast(spacings) / static_cast<double>(spacings);
  const double gain = std::numbers::ln2 * std::max(0.0, scale);
  const double best = keys.Nth(0);
  if (!(gain < tolerance * std::abs(best)) || IsBettered(state, best, tolerance)) return std::nullopt;
  return CompletionMet{"Converged: twice as many trials would improve " + Named(state, Sign(state) * best) +
                       " by about " + ThreeDigits(gain) + ", less than the tolerance of " +
                       ThreeDigits(100 * tolerance) + " %."};
}

}  // namespace

std::optional<CompletionMet> CompletionOf(const JobState& state, const FactBody& newest) {
  if (state.ended() || state.closing()) return std::nullopt;
  if (const auto* report = std::get_if<Reported>(&newest)) return Target(state, *report);
  const auto* ended = std::get_if<TrialEnded>(&newest);
  if (ended == nullptr) return std::nullopt;
  auto met = state.spec().has_several_objectives() ? TargetHypervolume(state) : Target(state, *ended);
  if (!met) met = OnlyFailures(state);
  if (!met) met = NoImprovement(state);
  return met ? met : Convergence(state);
}

}  // namespace winnow
