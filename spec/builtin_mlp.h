#pragma once

#include <string>
#include <vector>

#include "spec/builtin_trainers.h"

namespace winnow {

// What trainers/mlp takes and prints.
BuiltinTrainer MlpTrainer();

// What mlp prints apart from the metrics of validation data. Of `evaluated` those that training sees anyway,
// or all where nothing is validated, as "train:loss"; then "samples-per-second", and with distribution
// PARAMETER_SERVER how stale gradients were.
std::vector<std::string> MlpTrainingMetrics(const v1::TuningJobSpec& spec,
                                            const std::vector<std::string>& evaluated, bool validates);

}  // namespace winnow
