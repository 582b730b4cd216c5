#pragma once

#include <cstdint>

#include "scheduler/decide.h"

namespace winnow {

// How long the part that is admitted is expected to run, in microseconds: the median start-up of the job's
// attempts and as many median units as it is to train (state/startup.h). 0: not known, because too little was
// measured or the trainer ends where it likes. REQUIRES admission.trial > 0.
int64_t ExpectedPartUs(const JobState& state, const Admission& admission);

}  // namespace winnow
