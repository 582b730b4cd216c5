#pragma once

#include <atomic>
#include <cstdio>

#include "absl/status/status.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/train_files.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// One training run, from files to model.safetensors and model.onnx. Levels are epochs.
struct TrainRequest : TrainFiles {
  MlpParameters parameters;
};

// Trains, or continues from the newest matching checkpoint, and prints each epoch's metrics on `out`, epochs
// from 0: "[3]\ttrain-loss:0.31\ttrain-accuracy:0.91\tvalidation-loss:0.28\tvalidation-accuracy:0.92\t
// samples-per-second:81234". Epochs after resource_from that are only in a checkpoint (their process died
// before they were reported) are printed again. Warnings go to `err`, and so does the profile if one is
// requested; its trace goes to the output folder.
//
// All ranks of the trial call it; rank 0 prints, and writes checkpoints and the model. A rank that fails
// reports the reason to the others. FailedPrecondition, on all ranks, if the training has diverged.
//
// When *stop becomes true on any rank, it abandons the current epoch, saves the state after the last complete
// one as a checkpoint, and returns OK without a model; Cancelled if there is no checkpoint folder.
absl::Status RunTraining(const TrainRequest& request, Communicator* ranks, const std::atomic<bool>& stop,
                         std::FILE* out, std::FILE* err);

}  // namespace winnow::mlp
