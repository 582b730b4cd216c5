#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Adds the ranges that Autotune asks for: those of AutoParameters, and, if there is no other range, those of
// the hyperparameters that matter most. What cannot be tuned keeps its ValueHint. `ranges`: the request's
// ParameterRanges. ValidationException: the job trains anything but XGBoost, whose ranges alone are known.
absl::Status AddAutomaticRanges(const nlohmann::json& ranges, v1::TuningJobSpec& spec);

}  // namespace winnow
