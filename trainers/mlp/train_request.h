#pragma once

#include <string>

#include "trainers/common/train_files.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// One training run, from files to model.safetensors and model.onnx. Levels are epochs.
struct MlpTrainRequest : TrainFiles {
  MlpParameters parameters;
  std::string timing_path;  // receives the seconds of set-up, epochs and evaluations, bytes sent, and the
                            // bytes of each rank's state, as JSON; "": none
};

}  // namespace winnow::mlp
