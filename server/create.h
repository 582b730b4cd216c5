#pragma once

#include "absl/status/statusor.h"
#include "spec/check.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Checks a spec as CreateTuningJob does; INVALID_ARGUMENT carries every violation.
absl::Status CheckCreate(const v1::CreateTuningJobRequest& request, Training training);
absl::StatusOr<v1::TuningPlan> Preview(const v1::PreviewTuningJobRequest& request);

}  // namespace winnow
