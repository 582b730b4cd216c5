#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "worker/collective/communicator.h"
#include "worker/data/data_set.h"
#include "worker/gbdt/hyperparameters.h"

namespace winnow {

// One run of training, from files to a model file.
struct TrainRequest {
  GbdtParameters parameters;
  std::string train_path;
  DataOptions train_reading;
  std::string validation_path;  // "": none
  DataOptions validation_reading;
  // Each rank reads its own files of the folder; else all read all of it.
  bool train_sharded = false, validation_sharded = false;
  double validation_fraction = 0;  // split off the training data where there is no validation file
  uint64_t split_seed = 0;
  std::string model_folder;       // gets model.json at the end; "": no model is written
  std::string checkpoint_folder;  // "": training starts from nothing and keeps nothing
  std::string continue_from;      // a model of ours or XGBoost's that num_round more rounds are added to; "": none
  std::string timing_path;        // gets seconds of set-up, rounds and evaluations as JSON; "": none
  int64_t resource_from = 0;      // rounds whose metrics were reported by an earlier run
  int64_t resource_to = 0;        // train to this round, or num_round if that is less; 0: num_round
};

// Trains, goes on from the newest checkpoint that fits, and prints each round's metrics on `out` as XGBoost
// does:
// "[12]\ttrain-auc:0.81\tvalidation-auc:0.78", rounds from 0. Rounds after resource_from that only a
// checkpoint knows (their process died before all was heard) are printed again. What is worth a warning goes
// to `err`.
//
// All ranks of the trial call it; rank 0 prints, and writes checkpoints and the model, which are the same for any
// number of ranks. A rank that fails tells the others why.
//
// When *stop becomes true on any rank, it saves a checkpoint and returns OK without a model; Cancelled where there is no
// checkpoint folder.
absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err);

}  // namespace winnow
