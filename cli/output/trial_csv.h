#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>

#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// A header and a row per trial: state, a column per hyperparameter of the job, values, times and the reason of its end.
// A hyperparameter that does not exist in a trial has an empty cell. A job can be started warm with it.
std::string TrialsCsv(const v1::TuningJobSpec& spec, const google::protobuf::RepeatedPtrField<v1::Trial>& trials);

}  // namespace winnow::cli
