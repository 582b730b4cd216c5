#pragma once

#include <optional>
#include <string>

#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// Absent where there is no such metric; *expected then says what was expected. REQUIRES: *expected is "".
std::optional<Metric> ParseMetric(const std::string& name, std::string* expected = nullptr);

// The metric that XGBoost 1.7 evaluates where none is given (2.0 for reg:quantileerror).
Metric DefaultMetric(ObjectiveKind objective);

}  // namespace winnow::gbdt
