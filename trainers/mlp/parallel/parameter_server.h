#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/collective/messenger.h"
#include "trainers/mlp/parallel/epoch_trainer.h"

namespace winnow::mlp {

// Asynchronous training (Distribution::kParameterServer), as MXNet's dist_async has it: every rank serves a
// run of the parameters with its optimizer state (ServerShard), and works on its own 1/ranks of the rows, in
// order of rank and shuffled each epoch: a step's gradient, of batch_size rows, is sent to all servers, each
// of which applies it as it comes and answers with its newest parameters, which the next step is computed at.
// A worker waits for nobody else, except as staleness_bound says (StalenessGate). The rate's schedule follows
// each worker's own steps. At an epoch's end all wait for each other, so that all ranks have the same
// parameters.
//
// With more than one rank, results depend on who was faster. One rank is plain training.
//
// EpochResult::more: "staleness-mean" and "staleness-max", in updates by others between a pull and its push;
// state().step counts updates, those of all workers. Running statistics of batch norm are each worker's own
// and become their mean over ranks at an epoch's end. `extra` is "".
//
// Train's errors are the Messenger's too. InvalidArgument: LAMB (its norms need whole tensors), sifting,
// synchronised batch norm over several ranks, or a batch_size above the rows of a rank.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(const TrainingContext& context,
                                                                         NetworkState state,
                                                                         const std::string& extra);

// The same over a messenger that connects the same ranks.
absl::StatusOr<std::unique_ptr<EpochTrainer>> MakeParameterServerTrainer(
    const TrainingContext& context, NetworkState state, std::unique_ptr<Messenger> messenger);

}  // namespace winnow::mlp
