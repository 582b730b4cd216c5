#pragma once

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Which part of the training after the start each rule of FREEZE_THAW gets. The parts add up to 1.
struct RuleShares {
  double straight = 0, breadth = 0, density = 0, model = 0;

  double Of(SuggestionRule rule) const;
};

// Straight gets more, the less the beginnings of curves say about their ends: over pairs of the newest
// completed trials and over all rungs but the last, how often the one that is ahead at the rung is ahead at
// the end. Where it always is, straight gets kLeastStraight; where it is so half of the time, kMostStraight.
//
// The other three share the rest: each has kLeastEarned of it, and what is left is divided by the squares of
// what they have earned (state/earnings.h), times a weight that decides before there is evidence. Density
// takes part where the sampler is the GP.
RuleShares SharesOf(const JobState& state);

}  // namespace winnow
