#pragma once

#include "scheduler/space/types.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The part of the spec that the scheduler needs, with defaults filled in. REQUIRES: CheckSpec found nothing.
SearchSpec ToSearchSpec(const v1::TuningJobSpec& spec);

// The parameter's range. REQUIRES it has one.
Range ToRange(const v1::ParameterSpec& parameter);
// Writes the range in place of that of the parameter, if it has one.
void WriteRange(const Range& range, v1::ParameterSpec& parameter);

// Whether a grid takes some values of the range. It takes all values of the other ranges.
bool TakesGridPoints(const Range& range);

}  // namespace winnow
