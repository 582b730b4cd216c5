#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>

#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// The table that a warm start can read: a row per trial with its state, a column per hyperparameter of the
// job, values, times and the reason of its end; with several objectives or metric constraints also a column
// "metric.NAME" of each metric's newest values, and "violation". An inactive hyperparameter has an empty
// cell.
std::string TrialsCsvHeader(const v1::TuningJobSpec& spec);
std::string TrialsCsvRows(const v1::TuningJobSpec& spec,
                          const google::protobuf::RepeatedPtrField<v1::Trial>& trials);

}  // namespace winnow::cli
