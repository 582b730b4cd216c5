#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/state/job_state.h"

namespace winnow {

// What ranks a trial at a level where one number does not: "auc = 0.91, size = 12 (front 2)", or "auc = 0.91,
// size = 12 (violates metric_constraints: memory = 19, expected at most 10)". `front`: as in RankedTrial.
std::string StandingText(const JobState& state, const TrialState& trial, int64_t level,
                         std::optional<size_t> front);

}  // namespace winnow
