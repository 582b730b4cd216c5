#include "trainers/mlp/network/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/hash.h"
#include "trainers/common/portable_math.h"
#include "trainers/mlp/network/optimizer.h"

namespace winnow::mlp {
namespace {

constexpr uint64_t kWeightDraws = 0x77656967687473;  // separates these draws from the seed's others

// The middle of one of 2^32 equal parts of (0, 1).
double UniformOf(uint64_t hash) { return (static_cast<double>(hash >> 32) + 0.5) * 0x1p-32; }

// Coefficients from the highest power down.
double Polynomial(const std::array<double, 8>& coefficients, double x) {
  double sum = 0;
  for (double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

// The standard normal distribution's quantile, relative error about 1e-16 (Wichura, Algorithm AS 241, Applied
// Statistics 37, 1988; its first two of three ranges). In plain arithmetic: the same bits on every machine.
// REQUIRES: p and 1 - p above e^-25.
double NormalQuantile(double p) {
  constexpr std::array<double, 8> kCentre = {
      2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608};
  constexpr std::array<double, 8> kCentreBelow = {
      5226.495278852545925,  28729.085735721942674, 39307.89580009271061,  21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083,  42.313330701600911252, 1.0};
  constexpr std::array<double, 8> kTail = {
      7.7454501427834140764e-4, 2.27238449892691845833e-2, .24178072517745061177, 1.27045825245236838258,
      3.64784832476320460504,   5.7694972214606914055,     4.6303378461565452959, 1.42343711074968357734};
  constexpr std::array<double, 8> kTailBelow = {
      1.05075007164441684324e-9, 5.475938084995344946e-4, 1.51986665636164571966e-2, .14810397642748007459,
      .68976733498510000455,     1.6763848301838038494,   2.05319162663775882187,    1.0};
  constexpr double kCentreHalf = 0.425, kTailShift = 1.6;
  const double q = p - 0.5;
  if (std::fabs(q) <= kCentreHalf) {
    const double r = kCentreHalf * kCentreHalf - q * q;
    return q * (Polynomial(kCentre, r) / Polynomial(kCentreBelow, r));
  }
  const double r = std::sqrt(-PortableLog(std::min(p, 1 - p))) - kTailShift;
  const double far = Polynomial(kTail, r) / Polynomial(kTailBelow, r);
  return q < 0 ? -far : far;
}

void DrawWeights(const Layer& layer, int number, const MlpParameters& parameters, float* all) {
  const bool glorot = parameters.weight_init == WeightInit::kGlorot;
  const double uniform_half =
      std::sqrt(glorot ? 6.0 / (static_cast<double>(layer.inputs) + layer.outputs) : 1.0 / layer.inputs);
  const double deviation = std::sqrt(2.0 / layer.inputs);
  const uint64_t key = HashOf(parameters.seed, kWeightDraws);
  for (int input = 0; input < layer.inputs; ++input) {
    for (int output = 0; output < layer.outputs; ++output) {
      const double u = UniformOf(HashOf(key, number, input, output));
      const double weight = parameters.weight_init == WeightInit::kHe ? deviation * NormalQuantile(u)
                                                                      : uniform_half * (2 * u - 1);
      all[layer.WeightAt(input, output)] = static_cast<float>(weight);
    }
  }
}

}  // namespace

int64_t Network::TrainableCount() const {
  int64_t count = 0;
  for (const Layer& layer : layers) {
    const int per_output = layer.inputs + (layer.batch_norm ? 3 : 1);
    count += static_cast<int64_t>(per_output) * layer.outputs;
  }
  return count;
}

Network MakeNetwork(const MlpParameters& parameters, int inputs, int outputs) {
  Network network;
  const auto add = [&](int width, bool hidden) {
    Layer& layer = network.layers.emplace_back();
    layer.inputs = inputs;
    layer.outputs = width;
    layer.activated = hidden;
    layer.batch_norm = hidden && parameters.batch_norm != BatchNorm::kNone;
    layer.weights = network.parameters;
    layer.bias = layer.weights + layer.weight_count();
    layer.end = layer.bias + layer.padded();
    if (layer.batch_norm) {
      layer.gamma = layer.end;
      layer.beta = layer.gamma + layer.padded();
      layer.end = layer.beta + layer.padded();
      layer.statistics = network.statistics;
      network.statistics += 2 * static_cast<std::size_t>(layer.padded());
    }
    network.parameters = layer.end;
    inputs = width;
  };
  for (int width : parameters.hidden_layers) add(width, true);
  add(outputs, false);
  return network;
}

NetworkState InitialState(const Network& network, const MlpParameters& parameters) {
  NetworkState state;
  state.parameters.assign(network.parameters, 0.0f);
  state.statistics.assign(network.statistics, 0.0f);
  int number = 0;
  for (const Layer& layer : network.layers) {
    DrawWeights(layer, number++, parameters, state.parameters.data());
    if (!layer.batch_norm) continue;
    std::fill_n(state.parameters.begin() + layer.gamma, layer.outputs, 1.0f);
    std::fill_n(state.statistics.begin() + layer.statistics + layer.padded(), layer.outputs, 1.0f);
  }
  const bool plain = parameters.optimizer == OptimizerKind::kSgd && parameters.momentum == 0;
  const int slots = plain ? 0 : SlotCount(parameters.optimizer);
  for (int slot = 0; slot < slots; ++slot) state.slots[slot].assign(network.parameters, 0.0f);
  return state;
}

void ScaleOutputs(const Network& network, float factor, float shift, NetworkState* state) {
  const Layer& last = network.layers.back();
  float* const all = state->parameters.data();
  for (std::size_t i = last.weights; i < last.bias; ++i) all[i] *= factor;
  for (std::size_t i = last.bias; i < last.bias + static_cast<std::size_t>(last.outputs); ++i)
    all[i] = static_cast<float>(static_cast<double>(all[i]) * static_cast<double>(factor) +
                                static_cast<double>(shift));
}

}  // namespace winnow::mlp
