#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

std::optional<ObjectiveKind> FindObjective(std::string_view name);
std::string ObjectiveNames();  // "binary:logistic, ..."

// InvalidArgument says what was expected.
absl::StatusOr<Metric> ParseMetric(const std::string& name);

// The metric that XGBoost 1.7 evaluates where none is given (2.0 for reg:quantileerror).
Metric DefaultMetric(ObjectiveKind objective);

}  // namespace winnow::gbdt
