#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "scheduler/state/facts.h"
#include "scheduler/state/job_state.h"

namespace winnow {

// Rungs that are cut when every trial admitted to them has arrived: it was trained to the rung's level,
// reached its own end below it, or ended for whatever reason.

// How many trials of a rung may go on, given how many of those that live have a finite value.
using PlacesOf = std::function<int64_t(const BracketState& bracket, int64_t rung, int64_t finite)>;

// The cut of the trial's rung, if all have arrived now. The best first, by TrialState::counted_at, or by
// RankingOf (scheduler/state/standing.h) with several objectives or metric constraints; then those without a
// finite value, which never go on, and last those that have ended.
std::optional<RungCut> CutOf(const JobState& state, const TrialState& trial, const PlacesOf& places);

// "bracket 1 (s = 4), rung 2 at resource 3".
std::string Place(const JobState& state, int64_t bracket, int64_t rung);
// Whether the trial is at the highest rung of its bracket.
bool IsAtTop(const JobState& state, const TrialState& trial);
// What ranks each trial of a rung that was cut, for the sentences. REQUIRES ranks_by_standing().
std::map<TrialNumber, std::string> StandingTexts(const JobState& state, const RungState& rung);

}  // namespace winnow
