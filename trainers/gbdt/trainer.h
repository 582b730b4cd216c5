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

// One training run, from files to a model file, model.json. Levels are rounds.
struct TrainRequest : TrainFiles {
  GbdtParameters parameters;
  // A model of winnow-gbdt or XGBoost to which num_round rounds are added; "": none.
  std::string continue_from;
};

// Trains, or continues from the newest matching checkpoint, and prints each round's metrics on `out` as
// XGBoost does: "[12]\ttrain-auc:0.81\tvalidation-auc:0.78", rounds from 0. Rounds after resource_from that
// are only in a checkpoint (their process died before they were reported) are printed again. Warnings go to
// `err`.
//
// All ranks of the trial call it; rank 0 prints, and writes checkpoints and the model, which are the same for
// any number of ranks. A rank that fails reports the reason to the others.
//
// When *stop becomes true on any rank, it saves a checkpoint and returns OK without a model; Cancelled if
// there is no checkpoint folder.
absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err);

}  // namespace winnow::gbdt
