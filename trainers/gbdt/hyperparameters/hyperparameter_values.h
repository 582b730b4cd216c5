#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

absl::Status ReadMetrics(const nlohmann::json& value, std::vector<Metric>* metrics);

// XGBoost's "(1,-1,0)", a list of such numbers, or an object of feature names and numbers.
absl::Status ReadMonotone(const nlohmann::json& value, GbdtParameters* parameters);

// A list of lists of feature names or numbers: [["age", "sex"], [0, 2]].
absl::Status ReadInteractions(const nlohmann::json& value, GbdtParameters* parameters);

}  // namespace winnow::gbdt
