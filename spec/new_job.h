#pragma once

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The spec that a new job is recorded with: as given, and with the defaults that jobs recorded without them
// must not get, whose decisions were made without.
v1::TuningJobSpec NewJobSpec(v1::TuningJobSpec spec);

}  // namespace winnow
