#include "scheduler/samplers/rule_shares.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/models/non_dominated.h"
#include "scheduler/state/standing.h"

namespace winnow {
namespace {

constexpr double kLeastStraight = 0.05, kMostStraight = 0.5;
constexpr size_t kMostCompleted = 40;  // the newest
// What is believed of beginnings before any trial has completed, and for how many trials that counts.
constexpr double kUsualConcordance = 0.85, kUsualTrials = 2;

constexpr double kLeastEarned = 0.1;
// Weights of breadth, density and the model before there is evidence. With several objectives the front has
// many places at which the model finds what is missing, and records are too few to show it soon.
struct Weights {
  double breadth = 0, density = 0, model = 0;
};
constexpr Weights kOneObjective{0.5, 0.2, 0.3}, kSeveralObjectives{0.25, 0.15, 0.6};

// How many of `pairs` agree, weighed with what is usual, which counts like a few trials.
double Weighed(double agree, double pairs, size_t completed) {
  const auto trials = pairs > 0 ? static_cast<double>(completed) : 0;
  const double seen = pairs > 0 ? agree / pairs : 0;
  return (trials * seen + kUsualTrials * kUsualConcordance) / (trials + kUsualTrials);
}

// -1: `a` is preferred, 1: `b` is, 0: neither. Feasible ones, then less violation, then dominance.
int Preferred(const Standing& a, const Standing& b) {
  if (a.finite() != b.finite()) return a.finite() ? -1 : 1;
  if (!a.finite()) return 0;
  if (a.violation != b.violation) return a.violation < b.violation ? -1 : 1;
  if (!a.feasible()) return 0;
  return Dominates(a.keys, b.keys) ? -1 : Dominates(b.keys, a.keys) ? 1 : 0;
}

// The same as below for standings: over pairs of which one is preferred at the end and at the rung.
double ConcordanceOfStandings(const JobState& state) {
  const std::vector<RungState>& rungs = state.brackets()[0].rungs;
  std::vector<const TrialState*> completed;
  for (auto trial = state.trials().rbegin(); trial != state.trials().rend(); ++trial) {
    if (completed.size() == kMostCompleted) break;
    if (trial->phase == TrialPhase::kCompleted && trial->value_resource > 0) completed.push_back(&*trial);
  }
  double agree = 0, pairs = 0;
  for (size_t i = 0; i < completed.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const int end =
          Preferred(FinalStanding(state.spec(), *completed[i]), FinalStanding(state.spec(), *completed[j]));
      for (size_t k = 0; end != 0 && k + 1 < rungs.size(); ++k) {
        const int then = Preferred(StandingAt(state.spec(), *completed[i], rungs[k].resource),
                                   StandingAt(state.spec(), *completed[j], rungs[k].resource));
        if (then == 0) continue;
        pairs += 1;
        agree += then == end ? 1 : 0;
      }
    }
  }
  return Weighed(agree, pairs, completed.size());
}

// How often the trial that is ahead at a rung is ahead at the end, weighed with what is usual. Equal ones say
// nothing.
double ConcordanceOf(const JobState& state) {
  const ObjectiveValue counts = state.spec().objective_value;
  const double sign = state.spec().goal == Goal::kMaximize ? 1 : -1;
  const std::vector<RungState>& rungs = state.brackets()[0].rungs;
  if (state.spec().ranks_by_standing()) return ConcordanceOfStandings(state);
  struct Completed {
    std::vector<double> at;  // rungs but the last
    double end = 0;
  };
  std::vector<Completed> completed;
  for (auto trial = state.trials().rbegin(); trial != state.trials().rend(); ++trial) {
    if (completed.size() == kMostCompleted) break;
    if (trial->phase != TrialPhase::kCompleted || trial->value_resource == 0) continue;
    Completed& each = completed.emplace_back();
    each.end = sign * trial->value;
    for (size_t k = 0; k + 1 < rungs.size(); ++k) {
      const auto value = trial->counted_at(rungs[k].resource, counts);
      each.at.push_back(value ? sign * *value : std::nan(""));
    }
  }
  double agree = 0, pairs = 0;
  for (size_t i = 0; i < completed.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const double ahead = completed[i].end - completed[j].end;
      for (size_t k = 0; ahead != 0 && k < completed[i].at.size(); ++k) {
        const double then = completed[i].at[k] - completed[j].at[k];
        if (std::isnan(then) || then == 0) continue;
        pairs += 1;
        agree += (then > 0) == (ahead > 0) ? 1 : 0;
      }
    }
  }
  return Weighed(agree, pairs, completed.size());
}

}  // namespace

double RuleShares::Of(SuggestionRule rule) const {
  switch (rule) {
    case SuggestionRule::kStraight:
      return straight;
    case SuggestionRule::kBreadth:
      return breadth;
    case SuggestionRule::kDensity:
      return density;
    case SuggestionRule::kModel:
      return model;
    default:
      return 0;
  }
}

RuleShares SharesOf(const JobState& state) {
  const auto earned = [&](SuggestionRule rule, double weight) {
    return weight * std::pow(state.earnings().Ratio(rule), 2);
  };
  const Weights& first = state.spec().has_several_objectives() ? kSeveralObjectives : kOneObjective;
  const bool dense = state.spec().sampler.kind == SamplerKind::kGp;
  const double breadth = earned(SuggestionRule::kBreadth, first.breadth);
  const double density = dense ? earned(SuggestionRule::kDensity, first.density) : 0;
  const double model = earned(SuggestionRule::kModel, first.model);
  const double misled = std::clamp(2 * (1 - ConcordanceOf(state)), 0.0, 1.0);
  const double straight = kLeastStraight + (kMostStraight - kLeastStraight) * misled;
  const double free = 1 - kLeastEarned * (dense ? 3 : 2);
  const auto share = [&](double weight) {
    return (1 - straight) * (kLeastEarned + free * weight / (breadth + density + model));
  };
  return {straight, share(breadth), dense ? share(density) : 0, share(model)};
}

}  // namespace winnow
