#pragma once

#include <string>
#include <vector>

#include "spec/builtin_trainers.h"

namespace winnow {

// What worker/mlp takes and prints.
BuiltinTrainer MlpTrainer();

// What mlp prints apart from the metrics of validation data: "train:loss", of classes "train:accuracy",
// "samples-per-second", and with distribution PARAMETER_SERVER how stale gradients were.
std::vector<std::string> MlpTrainingMetrics(const v1::TuningJobSpec& spec);

}  // namespace winnow
