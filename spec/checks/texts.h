#pragma once

#include <vector>

#include "scheduler/validate.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// A violation for each text of the spec, names included, that holds a NUL character: neither programs nor all
// databases can be given one. Takes time linear in the spec's size.
std::vector<Violation> CheckTexts(const v1::TuningJobSpec& spec);

}  // namespace winnow
