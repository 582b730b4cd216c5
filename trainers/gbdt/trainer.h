#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/train_files.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"

namespace winnow::gbdt {

// One run of training, from files to a model file, model.json. Levels are rounds.
struct TrainRequest : TrainFiles {
  GbdtParameters parameters;
  // A model of winnow-gbdt or XGBoost that num_round more rounds are added to; "": none.
  std::string continue_from;
};

// Trains, goes on from the newest checkpoint that fits, and prints each round's metrics on `out` as XGBoost
// does:
// "[12]\ttrain-auc:0.81\tvalidation-auc:0.78", rounds from 0. Rounds after resource_from that only a
// checkpoint knows (their process died before all was heard) are printed again. What is worth a warning goes
// to `err`.
//
// All ranks of the trial call it; rank 0 prints, and writes checkpoints and the model, which are the same for
// any number of ranks. A rank that fails tells the others why.
//
// When *stop becomes true on any rank, it saves a checkpoint and returns OK without a model; Cancelled where
// there is no checkpoint folder.
absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err);

}  // namespace winnow::gbdt
