#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Local SGD (Distribution::kLocalSgd; Stich 2019): each rank trains on its own 1/ranks of the rows, in order
// of rank and shuffled each epoch, with its 1/ranks of a batch per step (BatchScaling::kLinear: with
// batch_size rows). Every local_steps steps, and at an epoch's end, everything that training changes
// (parameters, optimizer state, batch norm's statistics) is replaced by its mean over ranks. Sums are in
// order of rank, so the result has the same bits for a given number of ranks. With local_steps = 1, parts of
// equal size and no momentum it is synchronous SGD, up to rounding.
//
// A rank's rows are cut into as many nearly equal parts as the epoch has steps, ceil(rows / global batch), so
// that all ranks make as many steps. clip_norm applies to each rank's own gradient. `extra` is "".
// InvalidArgument: sifting, synchronised batch norm over several ranks, or a global batch of fewer rows than
// ranks or more than there are.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeLocalSgdTrainer(const TrainingContext& context,
                                                                  NetworkState state,
                                                                  const std::string& extra);

}  // namespace winnow::mlp
