#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// Group size of floats in the engine's arrays, on every instruction set.
constexpr int kPanel = 16;
// Batch norm adds it to a variance before taking the root (PyTorch's default).
constexpr float kBatchNormEpsilon = 1e-5f;
constexpr int PaddedTo(int count, int multiple) { return (count + multiple - 1) / multiple * multiple; }

// One fully connected layer: outputs = activation(batch_norm(inputs * weights + bias)). The last has neither
// activation nor batch norm. All its parameters are contiguous in the network's flat array:
//   weights: panels of 16 outputs; in a panel input by input, 16 floats each (outputs beyond the last are 0)
//   bias, and with batch norm gamma and beta: an entry per output, padded with zeros to a multiple of 16
struct Layer {
  int inputs = 0, outputs = 0;
  bool batch_norm = false;
  bool activated = false;
  std::size_t weights = 0, bias = 0, gamma = 0, beta = 0;  // where they begin
  std::size_t end = 0;                                     // of the layer's parameters; a multiple of 16
  std::size_t statistics = 0;  // with batch norm: the position of its running mean in
                               // NetworkState::statistics; its running variance is `padded` further on

  int padded() const { return PaddedTo(outputs, kPanel); }
  std::size_t weight_count() const { return static_cast<std::size_t>(inputs) * padded(); }
  std::size_t begin() const { return weights; }
  std::size_t WeightAt(int input, int output) const {
    return weights + (static_cast<std::size_t>(output / kPanel) * inputs + input) * kPanel + output % kPanel;
  }
};

struct Network {
  std::vector<Layer> layers;
  std::size_t parameters = 0;  // floats of the flat array, including padding
  std::size_t statistics = 0;

  int inputs() const { return layers.front().inputs; }
  int outputs() const { return layers.back().outputs; }
  int64_t TrainableCount() const;  // without padding
};

// Returns the network of these hyperparameters for `inputs` features and `outputs` classes or targets.
Network MakeNetwork(const MlpParameters& parameters, int inputs, int outputs);

// The state that training changes. Padding is and stays 0.
struct NetworkState {
  std::vector<float> parameters;  // [network.parameters]
  std::vector<float> slots[2];    // of the optimizer, like parameters: momentum; or mean and variance
  std::vector<float> statistics;  // batch norm's running means and variances
  int64_t step = 0;               // steps done
};

// Draws weights by the rule of weight_init: fan_in (uniform, +-1 / sqrt(inputs)), He's (normal, variance 2 /
// inputs) or Glorot's (uniform, +-sqrt(6 / (inputs + outputs))), each a function of (seed, layer, input,
// output); biases are 0, gammas 1; slots are zeros as the optimizer needs them.
NetworkState InitialState(const Network& network, const MlpParameters& parameters);

// Changes the last layer so that outputs become outputs * factor + shift.
void ScaleOutputs(const Network& network, float factor, float shift, NetworkState* state);

}  // namespace winnow::mlp
