#include "trainers/mlp/model/model_tensors.h"

#include <fmt/format.h>

#include <cstdint>

namespace winnow::mlp {
namespace {

absl::Status WrongTensor(const std::string& what) { return absl::InvalidArgumentError(what); }

// One float per output, as a tensor.
struct OutputRun {
  const char* name;
  std::vector<float> NetworkState::*array;
  std::size_t begin;
};

std::vector<OutputRun> OutputRuns(const Layer& layer) {
  std::vector<OutputRun> runs = {{"bias", &NetworkState::parameters, layer.bias}};
  if (!layer.batch_norm) return runs;
  runs.push_back({"batch_norm.weight", &NetworkState::parameters, layer.gamma});
  runs.push_back({"batch_norm.bias", &NetworkState::parameters, layer.beta});
  runs.push_back({"batch_norm.running_mean", &NetworkState::statistics, layer.statistics});
  runs.push_back({"batch_norm.running_var", &NetworkState::statistics, layer.statistics + layer.padded()});
  return runs;
}

std::string NameOf(std::size_t layer, const char* part) { return fmt::format("layers.{}.{}", layer, part); }

Tensor WeightTensor(const Model& model, std::size_t number) {
  const Layer& layer = model.network.layers[number];
  Tensor tensor{NameOf(number, "weight"), {layer.outputs, layer.inputs}, {}};
  tensor.values.reserve(static_cast<std::size_t>(layer.inputs) * layer.outputs);
  for (int output = 0; output < layer.outputs; ++output) {
    for (int input = 0; input < layer.inputs; ++input)
      tensor.values.push_back(model.state.parameters[layer.WeightAt(input, output)]);
  }
  return tensor;
}

// Takes the tensor of this name, which must have this shape, out of *tensors.
absl::StatusOr<TensorView> Take(const std::string& name, const std::vector<int64_t>& shape,
                                std::map<std::string, TensorView>* tensors) {
  const auto node = tensors->extract(name);
  if (node.empty()) return WrongTensor(fmt::format("tensor \"{}\" is missing", name));
  if (node.mapped().shape != shape)
    return WrongTensor(fmt::format("tensor \"{}\": shape {}: expected {}", name,
                                   ShapeText(node.mapped().shape), ShapeText(shape)));
  return node.mapped();
}

absl::Status TakeLayer(std::size_t number, std::map<std::string, TensorView>* tensors, Model* model) {
  const Layer& layer = model->network.layers[number];
  const absl::StatusOr<TensorView> weights =
      Take(NameOf(number, "weight"), {layer.outputs, layer.inputs}, tensors);
  if (!weights.ok()) return weights.status();
  model->state.parameters.resize(layer.end);
  if (layer.batch_norm) model->state.statistics.resize(layer.statistics + 2 * layer.padded());
  int64_t at = 0;
  for (int output = 0; output < layer.outputs; ++output) {
    for (int input = 0; input < layer.inputs; ++input)
      model->state.parameters[layer.WeightAt(input, output)] = weights->At(at++);
  }
  for (const OutputRun& run : OutputRuns(layer)) {
    const absl::StatusOr<TensorView> values = Take(NameOf(number, run.name), {layer.outputs}, tensors);
    if (!values.ok()) return values.status();
    for (int i = 0; i < layer.outputs; ++i) (model->state.*run.array)[run.begin + i] = values->At(i);
  }
  if (!layer.batch_norm) return absl::OkStatus();
  for (int i = 0; i < layer.outputs; ++i) {
    const float variance = model->state.statistics[layer.statistics + layer.padded() + i];
    if (variance < 0)
      return WrongTensor(
          fmt::format("tensor \"{}\": variance {}", NameOf(number, "batch_norm.running_var"), variance));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<Tensor> ModelTensors(const Model& model) {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < model.network.layers.size(); ++i) {
    const Layer& layer = model.network.layers[i];
    tensors.push_back(WeightTensor(model, i));
    for (const OutputRun& run : OutputRuns(layer)) {
      const auto begin = (model.state.*run.array).begin() + run.begin;
      tensors.push_back({NameOf(i, run.name), {layer.outputs}, {begin, begin + layer.outputs}});
    }
  }
  return tensors;
}

absl::Status TakeModelTensors(std::map<std::string, TensorView>* tensors, Model* model) {
  for (std::size_t i = 0; i < model->network.layers.size(); ++i) {
    if (absl::Status status = TakeLayer(i, tensors, model); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
