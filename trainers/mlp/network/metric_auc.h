#pragma once

#include <cstdint>
#include <span>

namespace winnow::mlp {

// Returns the area under the ROC curve of rows, with ties of scores counted half; `positive` is 1 or 0. NaN
// if positives or negatives have no weight. weight: [row], or empty: all 1.
double AreaUnderRoc(std::span<const float> score, std::span<const uint8_t> positive,
                    std::span<const float> weight);

}  // namespace winnow::mlp
