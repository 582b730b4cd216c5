#pragma once

#include <string>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What a valid spec may not mean: sentences that name the field, say what it does, and what would help.
std::vector<std::string> SpecWarnings(const v1::TuningJobSpec& spec);

}  // namespace winnow
