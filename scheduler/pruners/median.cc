#include "scheduler/pruners/median.h"

#include <limits>

#include "scheduler/space.h"

namespace winnow {

std::vector<Decision> MedianPruner::Follow(const JobState& state, const FactBody& newest) const {
  const auto* report = std::get_if<Reported>(&newest);
  if (report == nullptr || state.closing()) return {};
  const TrialState& trial = state.trial(report->trial);
  const PrunerSettings& settings = state.spec().pruner;
  const MedianIndex& completed = state.completed_averages();
  if (trial.ended() || report->resource < settings.warm_up_resource) return {};
  if (completed.trials() < settings.warm_up_trials) return {};
  const auto median = completed.At(report->resource);
  if (!median) return {};
  const double sign = state.spec().goal == Goal::kMaximize ? -1 : 1;
  const bool finite = trial.best_resource > 0;
  const double best = finite ? sign * trial.best_objective : std::numeric_limits<double>::infinity();
  if (best <= median->key) return {};
  const std::string at = "Median rule: at resource " + std::to_string(report->resource);
  const std::string has =
      finite ? " its best " + state.spec().objective_metric + " so far, " +
                   DoubleToString(trial.best_objective) + ", is worse than "
             : " it has no finite " + state.spec().objective_metric + ", which is worse than ";
  return {TrialEnded{trial.number, TrialEnd::kStopped,
                     at + has + DoubleToString(sign * median->key) +
                         ", the median of the running averages of " + std::to_string(median->of) +
                         (median->of == 1 ? " completed trial." : " completed trials.")}};
}

}  // namespace winnow
