#pragma once

#include <string>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Warnings about a valid spec that may not do what its author wants. Each is a sentence with the field, what
// it does, and what would help.
std::vector<std::string> SpecWarnings(const v1::TuningJobSpec& spec);

// How TuningJob.warm_start_text begins where the job has a warm start and none of its results could be used.
inline constexpr char kNoResultUsed[] = "No result used";

}  // namespace winnow
