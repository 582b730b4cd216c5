#include "trainers/mlp/parallel/training_step.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace winnow::mlp {

absl::StatusOr<const Kernels*> AgreedKernels(Precision precision, Communicator* ranks) {
  const Kernels& chosen = ChosenKernels();
  int count = 0;
  const Kernels* const* const runnable = RunnableKernels(&count);
  const auto level = static_cast<uint64_t>(std::find(runnable, runnable + count, &chosen) - runnable);
  const uint64_t least = ~uint64_t{0};
  uint64_t words[] = {level, least - level};
  if (absl::Status status = ranks->AllReduceMax(words); !status.ok()) return status;
  const Kernels& common = *runnable[least - words[1]];
  const bool alike =
      common.fused && (precision == Precision::kF32 || words[0] == least - words[1] || !chosen.native_bf16);
  return alike && (precision == Precision::kF32 || !common.native_bf16) ? &chosen : &common;
}

absl::StatusOr<std::string> WhyNotBf16(const Network& network, bool fast, Communicator* ranks) {
  constexpr std::size_t kFewWeights = 512;  // of all layers: below, converting takes longer than is saved
  uint64_t slow = fast ? 0 : 1;
  if (absl::Status status = ranks->AllReduceMax({&slow, 1}); !status.ok()) return status;
  std::size_t weights = 0;
  for (const Layer& layer : network.layers)
    weights += static_cast<std::size_t>(layer.inputs) * static_cast<std::size_t>(layer.outputs);
  if (slow != 0) return std::string("on this processor or another rank's");
  if (weights < kFewWeights) return std::string("for so small a network");
  return std::string();
}

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
