#include "scheduler/state/standing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "scheduler/models/hypervolume.h"
#include "scheduler/state/job_state.h"

namespace winnow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<ObjectivePoint> FeasiblePoints(const std::vector<Standing>& standings) {
  std::vector<ObjectivePoint> points;
  for (const Standing& standing : standings) {
    if (standing.finite() && standing.feasible()) points.push_back(standing.keys);
  }
  return points;
}

}  // namespace

bool Standing::finite() const {
  return !keys.empty() && std::isfinite(violation) &&
         std::all_of(keys.begin(), keys.end(), [](double key) { return std::isfinite(key); });
}

Standing StandingAt(const SearchSpec& spec, const TrialState& trial, int64_t level) {
  Standing standing{trial.number, {}, 0};
  if (!spec.has_several_objectives()) {
    if (const auto value = trial.counted_at(level, spec.objective_value))
      standing.keys.push_back(spec.goal == Goal::kMaximize ? -*value : *value);
  } else {
    for (size_t i = 0; i < spec.objectives.size(); ++i) {
      const auto value = trial.curve_of(static_cast<int64_t>(i)).at(level);
      if (!value) {
        standing.keys.clear();
        break;
      }
      standing.keys.push_back(spec.objectives[i].Key(*value));
    }
  }
  for (const MetricConstraint& constraint : spec.metric_constraints) {
    const auto value = trial.curve_of(spec.RankingIndex(constraint.metric)).at(level);
    if (value) standing.violation += constraint.Violation(*value);
  }
  return standing;
}

Standing FinalStanding(const SearchSpec& spec, const TrialState& trial) {
  Standing standing = StandingAt(spec, trial, std::numeric_limits<int64_t>::max());
  // With one objective the value need not be the newest.
  if (!spec.has_several_objectives()) {
    standing.keys.clear();
    if (trial.value_resource > 0)
      standing.keys.push_back(spec.goal == Goal::kMaximize ? -trial.value : trial.value);
  }
  if (trial.phase == TrialPhase::kCompleted && !KnowsConstraints(spec, trial)) standing.violation = kInfinity;
  return standing;
}

bool KnowsConstraints(const SearchSpec& spec, const TrialState& trial) {
  return std::none_of(spec.metric_constraints.begin(), spec.metric_constraints.end(),
                      [&](const MetricConstraint& constraint) {
                        return trial.curve_of(spec.RankingIndex(constraint.metric)).empty();
                      });
}

bool IsSettled(const SearchSpec& spec, const TrialState& trial) {
  const bool preliminary =
      spec.objective_value != ObjectiveValue::kBest && trial.phase != TrialPhase::kCompleted;
  return !preliminary && KnowsConstraints(spec, trial);
}

bool TakesPart(const TrialState& trial, const Standing& standing) {
  return trial.phase != TrialPhase::kFailed && standing.finite() && standing.feasible();
}

ObjectivePoint ReferenceOf(const std::vector<Objective>& objectives, const std::vector<Standing>& standings) {
  const std::vector<ObjectivePoint> points = FeasiblePoints(standings);
  if (points.empty()) return {};
  ObjectivePoint reference = WorstWithMargin(points);
  for (size_t i = 0; i < objectives.size(); ++i) {
    if (objectives[i].threshold) reference[i] = objectives[i].Key(*objectives[i].threshold);
  }
  return reference;
}

size_t FrontSizeOf(const std::vector<Standing>& standings) {
  return FirstFront(FeasiblePoints(standings)).size();
}

double HypervolumeOf(const std::vector<Standing>& standings, const ObjectivePoint& reference) {
  return reference.empty() ? 0 : Hypervolume(FeasiblePoints(standings), reference);
}

std::vector<RankedTrial> RankingOf(const std::vector<Objective>& objectives,
                                   std::vector<Standing> standings) {
  // Group 0: feasible, 1: infeasible, 2: not finite.
  const auto group = [](const Standing& s) { return !s.finite() ? 2 : s.feasible() ? 0 : 1; };
  const ObjectivePoint reference = ReferenceOf(objectives, standings);
  std::sort(standings.begin(), standings.end(), [&group](const Standing& a, const Standing& b) {
    const int of_a = group(a), of_b = group(b);
    return std::make_tuple(of_a, of_a == 1 ? a.violation : 0, a.number) <
           std::make_tuple(of_b, of_b == 1 ? b.violation : 0, b.number);
  });
  std::vector<ObjectivePoint> points;
  for (const Standing& standing : standings) {
    if (group(standing) == 0) points.push_back(standing.keys);
  }
  const std::vector<size_t> fronts = NonDominatedFronts(points);
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < fronts.size(); ++i) {
    if (fronts[i] >= members.size()) members.resize(fronts[i] + 1);
    members[fronts[i]].push_back(i);
  }
  std::vector<RankedTrial> ranking;
  for (size_t f = 0; f < members.size(); ++f) {
    std::vector<ObjectivePoint> of_front;
    for (const size_t index : members[f]) of_front.push_back(points[index]);
    for (const size_t index : SpreadOrder(of_front, reference))
      ranking.push_back({standings[members[f][index]].number, f});
  }
  for (size_t i = points.size(); i < standings.size(); ++i) ranking.push_back({standings[i].number, {}});
  return ranking;
}

}  // namespace winnow
