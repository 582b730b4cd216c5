#pragma once

#include "scheduler/plan.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// The plan as the message that clients get.
v1::TuningPlan PlanMessage(const Plan& plan);

}  // namespace winnow
