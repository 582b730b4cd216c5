#include "trainers/mlp/parallel/training_step.h"

#include <bit>
#include <cmath>

#include "trainers/mlp/parallel/diverged.h"

namespace winnow::mlp {

absl::Status AgreeOnBounds(const TrainingContext& context, int64_t epoch, int64_t epoch_step,
                           std::span<float> bounds) {
  bool stops = context.stop != nullptr && *context.stop;
  if (context.ranks->size() > 1) {
    std::vector<uint64_t> words;  // non-negative floats are ordered like their bits
    for (const float bound : bounds) words.push_back(std::bit_cast<uint32_t>(bound));
    words.push_back(stops);
    if (absl::Status status = context.ranks->AllReduceMax(words); !status.ok()) return status;
    for (std::size_t l = 0; l < bounds.size(); ++l)
      bounds[l] = std::bit_cast<float>(static_cast<uint32_t>(words[l]));
    stops = words.back() > 0;
  }
  if (stops) return absl::CancelledError("told to stop");
  for (const float bound : bounds) {
    if (!std::isfinite(bound)) return DivergedError(context.parameters, epoch, epoch_step);
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
