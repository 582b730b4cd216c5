#include "scheduler/pruners/paired_test.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <string>

#include "scheduler/pruners/kept.h"
#include "scheduler/space/rounded.h"
#include "scheduler/state/repeat_effects.h"

namespace winnow {
namespace {

// A trial beside the best one, over the repeats that it has completed.
struct Comparison {
  double worse = 0;   // by how much on average; negative: better
  double error = 0;   // its standard error
  double chance = 0;  // that the trial's mean over all possible repeats is the better one
};

Comparison Compare(const JobState& state, const TrialState& trial, const TrialState& best) {
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  const auto repeats = static_cast<double>(trial.curve.size());
  Comparison found;
  for (size_t i = 0; i < trial.curve.size(); ++i)
    found.worse += sign * (best.curve[i].second - trial.curve[i].second) / repeats;
  const RepeatEffects effects(state);
  found.error = std::sqrt(2 * effects.variance() / repeats);
  if (!(found.error > 0)) {
    found.chance = found.worse > 0 ? 0 : found.worse < 0 ? 1 : 0.5;
    return found;
  }
  const boost::math::students_t distribution(static_cast<double>(effects.freedom()));
  found.chance = boost::math::cdf(distribution, -found.worse / found.error);
  return found;
}

std::string Repeats(int64_t count) { return std::to_string(count) + (count == 1 ? " repeat" : " repeats"); }

}  // namespace

std::optional<Opening> PairedTestPruner::Open(const JobState&, const Configuration&) const {
  return Opening{-1, 0, 1};
}

Decision PairedTestPruner::PartFinished(const JobState& state, const TrialState& trial) const {
  const SearchSpec& spec = state.spec();
  const int64_t repeat = trial.curve.back().first;
  if (repeat < trial.to) {
    return TrialEnded{
        trial.number, TrialEnd::kFailed,
        "Repeat " + std::to_string(trial.to) + " ended without a value of " + spec.objective_metric + "."};
  }
  if (repeat >= spec.repeats) {
    return TrialEnded{trial.number, TrialEnd::kCompleted,
                      "All " + Repeats(repeat) + " are done: the mean of " + spec.objective_metric + " is " +
                          SixDigits(trial.curve.mean()) + " ± " + ThreeDigits(StandardError(trial.curve)) +
                          "."};
  }
  const std::string next = "Repeat " + std::to_string(repeat + 1) + " of " + std::to_string(spec.repeats);
  const auto best = state.best_trial();
  if (!best || state.trial(*best).phase != TrialPhase::kCompleted) {
    return TrialResumed{trial.number, trial.rung, repeat + 1,
                        next + ": no trial has completed all its repeats yet."};
  }
  const Comparison beside = Compare(state, trial, state.trial(*best));
  const std::string said = "over " + Repeats(repeat) + ", " + spec.objective_metric + " is " +
                           (beside.worse > 0 ? "worse" : "better") + " than that of trial " +
                           std::to_string(*best) + " by " + ThreeDigits(std::abs(beside.worse)) + " ± " +
                           ThreeDigits(beside.error) + ": a chance of " + Percent(beside.chance, 1) +
                           " that its mean is better";
  if (beside.chance < spec.pruner.min_chance && trial.kept)
    return TrialResumed{trial.number, trial.rung, repeat + 1,
                        next + ": " + said + ". " + KeptText(state, trial)};
  if (beside.chance < spec.pruner.min_chance) {
    return TrialEnded{trial.number, TrialEnd::kStopped,
                      "Paired test: " + said + ", less than " + Percent(spec.pruner.min_chance, 1) + "."};
  }
  return TrialResumed{trial.number, trial.rung, repeat + 1, next + ": " + said + "."};
}

}  // namespace winnow
