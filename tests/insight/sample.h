#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// A space with one hyperparameter of every kind; "decay" is active where "booster" is "b|c".
inline SearchSpec SampleSpec(Goal goal = Goal::kMinimize) {
  SearchSpec spec;
  spec.goal = goal;
  spec.objective_metric = "loss";
  spec.parameters = {{"rate", ContinuousRange{1e-4, 1, Scaling::kLog}},
                     {"depth", IntegerRange{1, 4}},
                     {"booster", CategoricalRange{{"a", "b|c"}}},
                     {"step", DiscreteRange{{0.5, 2, 8}}},
                     {"decay", ContinuousRange{0, 1}, Condition{2, {std::string("b|c")}}}};
  return spec;
}

// A table that is filled trial by trial: Add, change `entry` or `configuration`, Put.
class Table {
 public:
  explicit Table(Goal goal = Goal::kMinimize, ObjectiveValue counts = ObjectiveValue::kBest)
      : columns([&] {
          SearchSpec spec = SampleSpec(goal);
          spec.objective_value = counts;
          return spec;
        }()) {}

  TrialEntry& Add(double best, TrialPhase phase = TrialPhase::kCompleted) {
    entry = TrialEntry{};
    configuration = {0.01, int64_t{2}, std::string("a"), 2.0, Inactive{}};
    entry.number = static_cast<TrialNumber>(columns.size()) + 1;
    entry.phase = phase;
    entry.configuration = &configuration;
    entry.best = best;
    return entry;
  }
  void Put() { columns.Put(entry); }
  std::vector<uint8_t> All() const { return std::vector<uint8_t>(columns.size(), 1); }

  TrialColumns columns;
  TrialEntry entry;
  Configuration configuration;
};

}  // namespace winnow
