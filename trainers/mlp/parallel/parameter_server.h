#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Asynchronous training (Distribution::kParameterServer), as MXNet's dist_async: every rank serves a run of
// the parameters with its optimizer state (ServerShard), and trains on its own 1/ranks of the rows, in order
// of rank and shuffled each epoch. A step's gradient, of batch_size rows, is sent to all servers; each
// applies it on arrival and answers with its newest parameters, at which the next step is computed. A worker
// waits for no other, except by staleness_bound (StalenessGate). The rate's schedule follows each worker's
// own steps. At an epoch's end all wait for each other, so that all ranks have the same parameters.
//
// With more than one rank, results depend on timing. One rank is plain training.
//
// EpochResult::more: "staleness-mean" and "staleness-max", in updates by others between a pull and its push;
// state().step counts the updates of all workers. Running statistics of batch norm are each worker's own, and
// are averaged over ranks at an epoch's end. `extra` is "".
//
// Train's errors include the Messenger's. InvalidArgument: LAMB (its norms need whole tensors), sifting,
// synchronised batch norm over several ranks, or a batch_size above the rows of a rank.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(const TrainingContext& context,
                                                                         NetworkState state,
                                                                         const std::string& extra);

// With a given messenger that connects the same ranks.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(
    const TrainingContext& context, NetworkState state, std::unique_ptr<Messenger> messenger);

}  // namespace winnow::mlp
