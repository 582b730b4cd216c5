#include "trainers/mlp/model/model_file.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/status_text.h"
#include "trainers/common/whole_file.h"
#include "trainers/mlp/data/model_metadata.h"
#include "trainers/mlp/model/model_tensors.h"
#include "trainers/mlp/model/safetensors.h"

namespace winnow::mlp {
namespace {

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

absl::Status ReadMetadata(const Safetensors& file, MlpModel* model) {
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
absl::Status CheckOutputs(const MlpModel& model) {
  const bool one = model.parameters.loss != LossKind::kCrossEntropy;
  const int outputs = model.network.outputs();
  if (one && outputs != 1) return WrongModel(fmt::format("{} outputs: expected 1 under this loss", outputs));
  const std::size_t levels = model.schema.label_levels.size();
  if (levels > static_cast<std::size_t>(one ? 2 : outputs))
    return WrongModel(fmt::format("{} outputs for {} label levels", outputs, levels));
  return absl::OkStatus();
}

}  // namespace

std::string ModelText(const MlpModel& model) {
  return SafetensorsText({{"format", kModelFormat},
                          {"version", kModelVersion},
                          {"hyperparameters", HyperparametersJson(ModelHyperparameters(model.parameters))},
                          {"reading", ReadingJson(model.reading)},
                          {"schema", SchemaJson(model.schema)}},
                         ModelTensors(model));
}

absl::StatusOr<MlpModel> ParseMlpModel(std::string_view text) {
  absl::StatusOr<Safetensors> file = ParseSafetensors(text);
  if (!file.ok()) return file.status();
  MlpModel model;
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

absl::StatusOr<MlpModel> ReadMlpModel(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<MlpModel> model = ParseMlpModel(*text);
  if (!model.ok()) return Of(path, model.status());
  return model;
}

absl::Status WriteModel(const std::string& path, const MlpModel& model) {
  return WriteFileWhole(path, ModelText(model));
}

}  // namespace winnow::mlp
