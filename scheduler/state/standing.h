#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scheduler/models/non_dominated.h"
#include "scheduler/space/types.h"

namespace winnow {

struct TrialState;

// What a trial counts where one number does not order trials: several objectives, or metric_constraints.
struct Standing {
  TrialNumber number = 0;
  ObjectivePoint keys;   // of the objectives, in their order; negated to maximise, so that less is better
  double violation = 0;  // sum over the constraints of the distance from the bound; infinity: a NaN

  // Whether it can be ranked: all its numbers are finite. Others are worse than all that can.
  bool finite() const;
  bool feasible() const { return violation == 0; }

  bool operator==(const Standing&) const = default;
};

// What the trial counts at a level (of one objective as TrialState::counted_at, of several the newest values
// at or below the level), and how far it violates the constraints there. A constraint whose metric has not
// been reported yet is not violated. No keys: a value is missing.
Standing StandingAt(const SearchSpec& spec, const TrialState& trial, int64_t level);
// The same at the trial's highest level. A trial that has completed violates a constraint by infinity if it
// never reported the metric.
Standing FinalStanding(const SearchSpec& spec, const TrialState& trial);

// Whether the trial has reported the metric of every constraint.
bool KnowsConstraints(const SearchSpec& spec, const TrialState& trial);

// Whether what the trial counts is no longer preliminary (TrialState::value), and it is known whether it
// satisfies the constraints.
bool IsSettled(const SearchSpec& spec, const TrialState& trial);

// Whether a trial of this standing may be on the Pareto front: it has not failed, and the standing is finite
// and feasible.
bool TakesPart(const TrialState& trial, const Standing& standing);

// The reference point of the hypervolume of these trials: the objectives' thresholds, and where one has none
// the worst of the feasible trials with a margin (WorstWithMargin). Empty: no trial is feasible and finite.
ObjectivePoint ReferenceOf(const std::vector<Objective>& objectives, const std::vector<Standing>& standings);

// How many of the finite and feasible ones no other dominates.
size_t FrontSizeOf(const std::vector<Standing>& standings);
// The hypervolume of those that are finite and feasible; 0 without a reference point.
double HypervolumeOf(const std::vector<Standing>& standings, const ObjectivePoint& reference);

// The order in which a rung's trials are preferred: feasible ones first, by non-dominated fronts, and within
// a front by SpreadOrder; then infeasible ones by violation; those that are not finite last. Ties: the lower
// number first.
struct RankedTrial {
  TrialNumber number = 0;
  std::optional<size_t> front;  // non-dominated front, from 0; absent: infeasible or not finite
};
std::vector<RankedTrial> RankingOf(const std::vector<Objective>& objectives, std::vector<Standing> standings);

}  // namespace winnow
