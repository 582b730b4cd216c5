#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "scheduler/state/job_state.h"
#include "scheduler/state/standing.h"

namespace winnow {

// What ranks a trial at a rung where one number does not: "auc = 0.91, size = 12 (front 2)", or "auc = 0.91,
// size = 12 (violates metric_constraints by 0.3)". `front`: as in RankedTrial.
std::string StandingText(const JobState& state, const Standing& standing, std::optional<size_t> front);

}  // namespace winnow
