#pragma once

#include <vector>

#include "spec/violations.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The violations of a job whose programs are to be suspended at rungs (`trainer.warm` SUSPEND): what it asks
// for beside that cannot be suspended, or needs no suspension. Empty for any other job.
std::vector<Violation> CheckSuspend(const v1::TuningJobSpec& spec);

}  // namespace winnow
