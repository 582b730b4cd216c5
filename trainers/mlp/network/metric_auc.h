#pragma once

#include <cstdint>
#include <span>

namespace winnow::mlp {

// The area under the ROC curve of rows whose positives are those that `positive` says (1 or 0), ties of
// scores counted half. NaN where positives or negatives have no weight. weight: [row], or empty: all 1.
double AreaUnderRoc(std::span<const float> score, std::span<const uint8_t> positive,
                    std::span<const float> weight);

}  // namespace winnow::mlp
