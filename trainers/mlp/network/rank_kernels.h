#pragma once

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/kernels.h"

namespace winnow::mlp {

// Returns this rank's kernels, chosen so that all ranks' results have the same bits: each rank's widest if
// those of all have fused multiply-add (and, for bf16, all or none multiply bf16 natively), otherwise the
// widest that all can run. All ranks call it.
absl::StatusOr<const MlpKernels*> AgreedMlpKernels(Precision precision, Communicator* ranks);

}  // namespace winnow::mlp
