#pragma once

#include <string>

#include "worker/mlp/hyperparameters.h"
#include "worker/trainer/train_files.h"

namespace winnow {

// One run of training, from files to model.safetensors and model.onnx. Levels are epochs.
struct MlpTrainRequest : TrainFiles {
  MlpParameters parameters;
  std::string timing_path;  // gets seconds of set-up, epochs and evaluations, bytes sent, and the bytes that
                            // each rank's state takes, as JSON; "": none
};

}  // namespace winnow
