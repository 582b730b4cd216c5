#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace winnow {

// Prints the metrics of a level as XGBoost does, "[12]\ttrain-auc:0.81\tvalidation-auc:0.78", and at once.
// REQUIRES: as many values as names.
void PrintMetricLine(std::FILE* out, int64_t level, std::span<const std::string> names,
                     std::span<const float> values);

}  // namespace winnow
