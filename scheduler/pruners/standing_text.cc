#include "scheduler/pruners/standing_text.h"

#include <cmath>
#include <vector>

#include "scheduler/space/rounded.h"
#include "scheduler/state/standing.h"

namespace winnow {
namespace {

// "memory = 19, expected at most 10; latency = 3, expected at most 2"
std::string ViolationsText(const SearchSpec& spec, const TrialState& trial, int64_t level) {
  std::string text;
  for (const MetricConstraint& constraint : spec.metric_constraints) {
    const auto value = trial.curve_of(spec.RankingIndex(constraint.metric)).at(level);
    if (!value || constraint.Violation(*value) == 0) continue;
    const bool low = *value < constraint.at_least || std::isinf(constraint.at_most);
    const double bound = low ? constraint.at_least : constraint.at_most;
    text += (text.empty() ? "" : "; ") + constraint.metric + " = " + SixDigits(*value, bound) +
            ", expected at " + (low ? "least " : "most ") + SixDigits(bound, *value);
  }
  return text;
}

}  // namespace

std::string StandingText(const JobState& state, const TrialState& trial, int64_t level,
                         std::optional<size_t> front) {
  const Standing standing = StandingAt(state.spec(), trial, level);
  const std::vector<Objective> objectives = state.spec().AllObjectives();
  std::string text;
  for (size_t i = 0; i < standing.keys.size(); ++i) {
    // A key becomes the value again as the value became the key.
    text +=
        (i == 0 ? "" : ", ") + objectives[i].metric + " = " + SixDigits(objectives[i].Key(standing.keys[i]));
  }
  if (text.empty()) text = "no value";
  if (!standing.feasible())
    return text + " (violates metric_constraints: " + ViolationsText(state.spec(), trial, level) + ")";
  return front && objectives.size() > 1 ? text + " (front " + std::to_string(*front + 1) + ")" : text;
}

}  // namespace winnow
