#include "trainers/mlp/model/model_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status_text.h"
#include "trainers/common/whole_file.h"
#include "trainers/mlp/data/model_metadata.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/onnx_writer.h"
#include "trainers/mlp/model/safetensors.h"

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

// The network's parameters and statistics under ModelText's names, in its order, layer by layer.
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

// Moves the tensors of model->network from *tensors into model->state. InvalidArgument if one is missing, or
// has another shape, or a variance is negative. Memory grows with the tensors' size, not with the layers that
// the network declares.
absl::Status TakeModelTensors(std::map<std::string, TensorView>* tensors, Model* model) {
  for (std::size_t i = 0; i < model->network.layers.size(); ++i) {
    if (absl::Status status = TakeLayer(i, tensors, model); !status.ok()) return status;
  }
  return absl::OkStatus();
}

constexpr const char* kModelFormat = "winnow-mlp";
constexpr const char* kModelVersion = "1";

absl::Status WrongModel(const std::string& what) { return absl::InvalidArgumentError(what); }

absl::Status Of(const std::string& what, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", what, MessageOf(status)));
}

absl::StatusOr<std::string> MetadataOf(const Safetensors& file, const std::string& name) {
  const auto found = file.metadata.find(name);
  if (found != file.metadata.end()) return found->second;
  return WrongModel(
      fmt::format("__metadata__ has no \"{}\": the weights alone do not say how inputs are read and what is "
                  "computed between the layers; expected a file that winnow-mlp wrote",
                  name));
}

absl::Status ReadMetadata(const Safetensors& file, Model* model) {
  for (const auto& [name, expected] :
       {std::pair("format", kModelFormat), std::pair("version", kModelVersion)}) {
    const absl::StatusOr<std::string> value = MetadataOf(file, name);
    if (!value.ok()) return value.status();
    if (*value != expected)
      return WrongModel(
          fmt::format("__metadata__: {} \"{}\": this program reads \"{}\"", name, *value, expected));
  }
  const absl::StatusOr<std::string> hyperparameters = MetadataOf(file, "hyperparameters");
  if (!hyperparameters.ok()) return hyperparameters.status();
  std::vector<std::string> ignored;  // warnings, which training has printed
  absl::StatusOr<MlpParameters> parameters = ParseMlpHyperparameters(*hyperparameters, &ignored);
  if (!parameters.ok()) return Of("__metadata__: hyperparameters", parameters.status());
  model->parameters = *std::move(parameters);

  const absl::StatusOr<std::string> reading = MetadataOf(file, "reading");
  if (!reading.ok()) return reading.status();
  absl::StatusOr<DataOptions> options = ParseReading(*reading);
  if (!options.ok()) return Of("__metadata__: reading", options.status());
  model->reading = *std::move(options);

  const absl::StatusOr<std::string> schema_text = MetadataOf(file, "schema");
  if (!schema_text.ok()) return schema_text.status();
  absl::StatusOr<FeatureSchema> schema = ParseSchema(*schema_text);
  if (!schema.ok()) return Of("__metadata__: schema", schema.status());
  model->schema = *std::move(schema);
  return absl::OkStatus();
}

// The last layer's outputs, which the hyperparameters may omit.
absl::StatusOr<int> OutputsOf(const Safetensors& file, std::size_t hidden_layers) {
  const std::string name = fmt::format("layers.{}.bias", hidden_layers);
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) return WrongModel(fmt::format("tensor \"{}\" is missing", name));
  const TensorView& bias = found->second;
  if (bias.shape.size() != 1 || bias.shape[0] < 1 || bias.shape[0] > INT32_MAX)
    return WrongModel(
        fmt::format("tensor \"{}\": shape {}: expected one entry per output", name, ShapeText(bias.shape)));
  return static_cast<int>(bias.shape[0]);
}

// These losses determine the outputs.
absl::Status CheckOutputs(const Model& model) {
  const bool one = model.parameters.loss != LossKind::kCrossEntropy;
  const int outputs = model.network.outputs();
  if (one && outputs != 1) return WrongModel(fmt::format("{} outputs: expected 1 under this loss", outputs));
  const std::size_t levels = model.schema.label_levels.size();
  if (levels > static_cast<std::size_t>(one ? 2 : outputs))
    return WrongModel(fmt::format("{} outputs for {} label levels", outputs, levels));
  return absl::OkStatus();
}

}  // namespace

std::string ModelText(const Model& model) {
  return SafetensorsText({{"format", kModelFormat},
                          {"version", kModelVersion},
                          {"hyperparameters", HyperparametersJson(ModelHyperparameters(model.parameters))},
                          {"reading", ReadingJson(model.reading)},
                          {"schema", SchemaJson(model.schema)}},
                         ModelTensors(model));
}

absl::StatusOr<Model> ParseModel(std::string_view text) {
  absl::StatusOr<Safetensors> file = ParseSafetensors(text);
  if (!file.ok()) return file.status();
  Model model;
  if (absl::Status status = ReadMetadata(*file, &model); !status.ok()) return status;
  const absl::StatusOr<int> outputs = OutputsOf(*file, model.parameters.hidden_layers.size());
  if (!outputs.ok()) return outputs.status();
  model.network = MakeNetwork(model.parameters, model.schema.features, *outputs);
  if (absl::Status status = CheckOutputs(model); !status.ok()) return status;
  if (absl::Status status = TakeModelTensors(&file->tensors, &model); !status.ok()) return status;
  if (!file->tensors.empty())
    return WrongModel(fmt::format("tensor \"{}\": the network of these hyperparameters has no such",
                                  file->tensors.begin()->first));
  return model;
}

absl::StatusOr<Model> ReadModel(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Model> model = ParseModel(*text);
  if (!model.ok()) return Of(path, model.status());
  return model;
}

absl::Status WriteModel(const std::string& path, const Model& model) {
  return WriteFileWhole(path, ModelText(model));
}

namespace {

using Attributes = OnnxWriter::Attributes;

constexpr float kTopByte = 255;

// Adds the scaling of raw features to inputs; returns the name of the inputs.
std::string AddScaling(const FeatureSchema& schema, OnnxWriter* onnx) {
  onnx->Input("features", schema.features);
  const auto entries = static_cast<int64_t>(schema.scaling.mean.size());
  onnx->Constant("mean", {entries}, schema.scaling.mean);
  onnx->Constant("deviation", {entries}, schema.scaling.deviation);
  std::string at;
  if (schema.of_bytes) {
    onnx->Constant("largest_byte", {1}, {kTopByte});
    at = onnx->Node("Div", {"features", "largest_byte"}, "shares");
  } else {
    const std::string missing = onnx->Node("IsNaN", {"features"}, "missing");
    at = onnx->Node("Where", {missing, "mean", "features"}, "present");
  }
  at = onnx->Node("Sub", {at, "mean"}, "centred");
  return onnx->Node("Div", {at, "deviation"}, "scaled");
}

std::string AddActivation(const MlpParameters& parameters, const std::string& layer, const std::string& from,
                          OnnxWriter* onnx) {
  const std::string output = layer + "activation";
  switch (parameters.activation) {
    case Activation::kRelu:
      return onnx->Node("Relu", {from}, output);
    case Activation::kLeakyRelu:
      return onnx->Node("LeakyRelu", {from}, output,
                        Attributes{{{"alpha", static_cast<float>(parameters.leaky_slope)}}, {}});
    case Activation::kTanh:
      return onnx->Node("Tanh", {from}, output);
    case Activation::kGelu:
      break;
  }
  // x * (erf(x / sqrt(2)) + 1) * 0.5
  const std::string part = onnx->Node("Div", {from, "root_of_two"}, layer + "gelu.quotient");
  const std::string erf = onnx->Node("Erf", {part}, layer + "gelu.erf");
  const std::string above = onnx->Node("Add", {erf, "one"}, layer + "gelu.above");
  const std::string twice = onnx->Node("Mul", {from, above}, layer + "gelu.twice");
  return onnx->Node("Mul", {twice, "half"}, output);
}

// Returns the name of the last layer's outputs, `last`.
std::string AddLayers(const Model& model, std::string at, const std::string& last, OnnxWriter* onnx) {
  for (const Tensor& tensor : ModelTensors(model)) onnx->Constant(tensor.name, tensor.shape, tensor.values);
  const std::vector<Layer>& layers = model.network.layers;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string name = fmt::format("layers.{}.", i);
    const bool is_last = i + 1 == layers.size();
    at = onnx->Node("Gemm", {at, name + "weight", name + "bias"}, is_last ? last : name + "product",
                    Attributes{{}, {{"transB", 1}}});
    if (layers[i].batch_norm) {
      const std::string norm = name + "batch_norm.";
      at = onnx->Node("BatchNormalization",
                      {at, norm + "weight", norm + "bias", norm + "running_mean", norm + "running_var"},
                      name + "normalised", Attributes{{{"epsilon", kBatchNormEpsilon}}, {}});
    }
    if (layers[i].activated) at = AddActivation(model.parameters, name, at, onnx);
  }
  return at;
}

void AddGeluConstants(OnnxWriter* onnx) {
  onnx->Constant("root_of_two", {1}, {std::sqrt(2.0f)});
  onnx->Constant("one", {1}, {1});
  onnx->Constant("half", {1}, {0.5f});
}

}  // namespace

std::string OnnxText(const Model& model) {
  OnnxWriter onnx;
  if (model.parameters.activation == Activation::kGelu) AddGeluConstants(&onnx);
  const std::string scaled = AddScaling(model.schema, &onnx);
  const int outputs = model.network.outputs();
  const LossKind loss = model.parameters.loss;
  const bool classes = loss == LossKind::kCrossEntropy || loss == LossKind::kLogistic;
  const std::string last = AddLayers(model, scaled, classes ? "logits" : "values", &onnx);
  onnx.Output(last, outputs);
  if (loss == LossKind::kCrossEntropy)
    onnx.Output(onnx.Node("Softmax", {last}, "probabilities", Attributes{{}, {{"axis", 1}}}), outputs);
  if (loss == LossKind::kLogistic) onnx.Output(onnx.Node("Sigmoid", {last}, "probabilities"), outputs);
  return onnx.Text({{"hyperparameters", HyperparametersJson(ModelHyperparameters(model.parameters))},
                    {"schema", SchemaJson(model.schema)}});
}

absl::Status WriteOnnx(const std::string& path, const Model& model) {
  return WriteFileWhole(path, OnnxText(model));
}

}  // namespace winnow::mlp
