#pragma once

#include "absl/status/statusor.h"
#include "worker/collective/communicator.h"
#include "worker/mlp/hyperparameters.h"
#include "worker/mlp/kernels.h"

namespace winnow {

// The kernels that this rank computes with, so that all ranks' results have the same bits: each its widest
// where those of all fuse (and, for bf16, all or none multiply bf16 natively), else the widest that all can
// run. All ranks call it.
absl::StatusOr<const MlpKernels*> AgreedMlpKernels(Precision precision, Communicator* ranks);

}  // namespace winnow
