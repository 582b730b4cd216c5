#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>

#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// Returns a header and a row per trial: state, a column per hyperparameter of the job, values, times and the
// reason of its end. An inactive hyperparameter has an empty cell. A warm start can read it.
std::string TrialsCsv(const v1::TuningJobSpec& spec,
                      const google::protobuf::RepeatedPtrField<v1::Trial>& trials);

}  // namespace winnow::cli
