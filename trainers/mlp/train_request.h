#pragma once

#include <string>

#include "trainers/common/train_files.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// One run of training, from files to model.safetensors and model.onnx. Levels are epochs.
struct MlpTrainRequest : TrainFiles {
  MlpParameters parameters;
  std::string timing_path;  // gets seconds of set-up, epochs and evaluations, bytes sent, and the bytes that
                            // each rank's state takes, as JSON; "": none
};

}  // namespace winnow::mlp
