#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace winnow {

// Prints and flushes the metrics of a level in XGBoost's form, "[12]\ttrain-auc:0.81\tvalidation-auc:0.78".
// REQUIRES: as many values as names.
void PrintMetricLine(std::FILE* out, int64_t level, std::span<const std::string> names,
                     std::span<const float> values);

}  // namespace winnow
