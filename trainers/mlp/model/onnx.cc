#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "trainers/common/whole_file.h"
#include "trainers/mlp/data/model_metadata.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/model_tensors.h"
#include "trainers/mlp/model/onnx_writer.h"

namespace winnow::mlp {
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
std::string AddLayers(const MlpModel& model, std::string at, const std::string& last, OnnxWriter* onnx) {
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

std::string OnnxText(const MlpModel& model) {
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

absl::Status WriteOnnx(const std::string& path, const MlpModel& model) {
  return WriteFileWhole(path, OnnxText(model));
}

}  // namespace winnow::mlp
