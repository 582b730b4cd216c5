#include "scheduler/pruners/median.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

// What is compared with the median; absent: no finite number.
std::optional<double> OwnValue(const JobState& state, const TrialState& trial, int64_t resource) {
  if (state.spec().objective_value == ObjectiveValue::kBest)
    return trial.best_resource > 0 ? std::make_optional(trial.best_objective) : std::nullopt;
  const auto value = trial.counted_at(resource, state.spec().objective_value);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

const char* NameOfOwn(ObjectiveValue counts) {
  if (counts == ObjectiveValue::kBest) return " its best ";
  return counts == ObjectiveValue::kLast ? " its " : " its mean ";
}

// With several objectives: the stop of a trial that is worse than the median in each.
std::vector<Decision> StopOfSeveral(const JobState& state, const Reported& report) {
  const TrialState& trial = state.trial(report.trial);
  const PrunerSettings& settings = state.spec().pruner;
  const std::vector<Objective>& objectives = state.spec().objectives;
  const int64_t level = trial.value_resource;  // that all objectives have reached
  if (trial.ended() || trial.kept || level < std::max<int64_t>(1, settings.warm_up_resource)) return {};
  if (state.completed_averages().trials() < settings.warm_up_trials) return {};
  std::string text;
  int64_t of = 0;
  for (size_t i = 0; i < objectives.size(); ++i) {
    const auto median = state.completed_averages(i).At(level);
    const double own = *trial.curve_of(static_cast<int64_t>(i)).at(level);
    if (!median || objectives[i].Key(own) <= median->key) return {};
    const double middle = objectives[i].Key(median->key);
    text += (i == 0 ? "its " : ", and its ") + objectives[i].metric + ", " + SixDigits(own, middle) +
            ", is worse than " + SixDigits(middle, own);
    of = median->of;
  }
  return {TrialEnded{trial.number, TrialEnd::kStopped,
                     "Median rule: at resource " + std::to_string(level) + " " + text +
                         ", the medians of the running averages of " + std::to_string(of) +
                         (of == 1 ? " completed trial." : " completed trials.")}};
}

}  // namespace

std::vector<Decision> MedianPruner::Follow(const JobState& state, const FactBody& newest) const {
  const auto* report = std::get_if<Reported>(&newest);
  if (report == nullptr || state.closing()) return {};
  const TrialState& trial = state.trial(report->trial);
  const PrunerSettings& settings = state.spec().pruner;
  const MedianIndex& completed = state.completed_averages();
  if (state.spec().has_several_objectives()) return StopOfSeveral(state, *report);
  if (report->metric != 0) return {};  // of a constraint: the level's objective follows
  if (trial.ended() || trial.kept || report->resource < settings.warm_up_resource) return {};
  if (completed.trials() < settings.warm_up_trials) return {};
  const auto median = completed.At(report->resource);
  if (!median) return {};
  const double sign = state.spec().goal == Goal::kMaximize ? -1 : 1;
  const auto own = OwnValue(state, trial, report->resource);
  const double key = own ? sign * *own : std::numeric_limits<double>::infinity();
  if (key <= median->key) return {};
  const double middle = sign * median->key;
  const std::string at = "Median rule: at resource " + std::to_string(report->resource);
  const std::string has =
      own ? NameOfOwn(state.spec().objective_value) + state.spec().objective_metric + " so far, " +
                SixDigits(*own, middle) + ", is worse than "
          : " it has no finite " + state.spec().objective_metric + ", which is worse than ";
  return {TrialEnded{trial.number, TrialEnd::kStopped,
                     at + has + (own ? SixDigits(middle, *own) : SixDigits(middle)) +
                         ", the median of the running averages of " + std::to_string(median->of) +
                         (median->of == 1 ? " completed trial." : " completed trials.")}};
}

}  // namespace winnow
