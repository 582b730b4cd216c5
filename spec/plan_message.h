#pragma once

#include "scheduler/plan.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

v1::TuningPlan PlanMessage(const Plan& plan);

}  // namespace winnow
