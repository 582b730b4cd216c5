#pragma once

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// What the scheduler needs to know of the spec, defaults filled in. REQUIRES CheckSpec found nothing.
SearchSpec ToSearchSpec(const v1::TuningJobSpec& spec);

// Whether a grid chooses values from the range; from any other it takes all.
bool TakesGridPoints(const Range& range);

}  // namespace winnow
