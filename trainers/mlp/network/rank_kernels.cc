#include "trainers/mlp/network/rank_kernels.h"

#include <algorithm>
#include <cstdint>

namespace winnow::mlp {

absl::StatusOr<const MlpKernels*> AgreedMlpKernels(Precision precision, Communicator* ranks) {
  const MlpKernels& chosen = ChosenMlpKernels();
  int count = 0;
  const MlpKernels* const* const runnable = RunnableMlpKernels(&count);
  const auto level = static_cast<uint64_t>(std::find(runnable, runnable + count, &chosen) - runnable);
  const uint64_t least = ~uint64_t{0};
  uint64_t words[] = {level, least - level};
  if (absl::Status status = ranks->AllReduceMax(words); !status.ok()) return status;
  const MlpKernels& common = *runnable[least - words[1]];
  const bool alike =
      common.fused && (precision == Precision::kF32 || words[0] == least - words[1] || !chosen.native_bf16);
  return alike && (precision == Precision::kF32 || !common.native_bf16) ? &chosen : &common;
}

}  // namespace winnow::mlp
