#pragma once

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/network/kernels.h"

namespace winnow::mlp {

// The kernels that this rank computes with, so that all ranks' results have the same bits: each its widest
// where those of all fuse (and, for bf16, all or none multiply bf16 natively), else the widest that all can
// run. All ranks call it.
absl::StatusOr<const MlpKernels*> AgreedMlpKernels(Precision precision, Communicator* ranks);

}  // namespace winnow::mlp
