#pragma once

#include <cstdint>
#include <vector>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// The weak bracket rule of HYPERBAND (pruner.stop_weak_brackets). Brackets of Hyperband hedge: those that cut
// early waste little if early values tell, those that cut late lose nothing if they do not. While a job runs
// it becomes known which is the case; the budget of brackets that can hardly win any more is then given back.
//
// What is compared. At the cut of bracket b's rung at resource r: its k survivors (those that go on) with the
// m survivors of the other brackets' cuts at the same r, by TrialState::counted_at. Only survivors are
// compared, because brackets that began lower have been sifted more often. Only the best of the k counts,
// because a bracket wins by its best trial: sums of ranks would punish a bracket for being wide. Let a be the
// number of the m that are strictly better than the best of the k.
//
// The test. If the bracket were no worse, all orders of the k + m would be alike (or better for it), and the
// a best of all would belong to the others with the chance
//     C(k + m - a, k) / C(k + m, k) = product over i < a of (m - i) / (k + m - i),
// which is exact for every k and m (a permutation test whose statistic is the rank of the best). Ties count
// for the bracket.
//
// The level. Bracket b has s cuts, and at each resource it is looked at once: at the first cut there, its own
// or another's, after which there is evidence enough. A cycle has s_max brackets that are cut at all. A
// bracket is ended if the chance is at most weak_bracket_level / (s * s_max), so that by Bonferroni's
// inequality, of the brackets of a cycle that are no worse, any is ended by all looks together at no more
// than weak_bracket_level.
//
// The least evidence. m >= kLeastOthers, and a = m would be significant. The bracket of the best trial so far
// is never ended. Compared are the kWindow brackets before and after, so that a cut costs the same however
// long the job is.
constexpr int64_t kLeastOthers = 4;
constexpr int64_t kWindow = 24;

// The chance above. REQUIRES survivors >= 1, 0 <= ahead <= others.
double ChanceBehind(int64_t survivors, int64_t others, int64_t ahead);

// The brackets that end now that `cut`, the newest fact, is made.
std::vector<BracketEnded> WeakBrackets(const JobState& state, const RungCut& cut);

}  // namespace winnow
