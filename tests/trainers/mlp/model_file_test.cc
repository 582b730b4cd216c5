#include "trainers/mlp/model/model_file.h"

#include <algorithm>
#include <functional>

#include "base/status_text.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"
#include "tests/trainers/mlp/model_sample.h"
#include "trainers/mlp/model/onnx_writer.h"
#include "trainers/mlp/model/safetensors.h"

namespace winnow::mlp {
namespace {

using Metadata = std::map<std::string, std::string>;

// The sample's file after `change`.
std::string Changed(const std::function<void(Metadata*, std::vector<Tensor>*)>& change) {
  const std::string text = ModelText(SampleModel());
  const Safetensors file = *ParseSafetensors(text);
  Metadata metadata = file.metadata;
  std::vector<Tensor> tensors;
  for (const auto& [name, view] : file.tensors) {
    Tensor& tensor = tensors.emplace_back(Tensor{name, view.shape, {}});
    for (int64_t i = 0; i < view.size(); ++i) tensor.values.push_back(view.At(i));
  }
  change(&metadata, &tensors);
  return SafetensorsText({metadata.begin(), metadata.end()}, tensors);
}

Tensor* Find(std::vector<Tensor>* tensors, const std::string& name) {
  return &*std::find_if(tensors->begin(), tensors->end(), [&](const Tensor& t) { return t.name == name; });
}

std::string ErrorOf(const std::function<void(Metadata*, std::vector<Tensor>*)>& change) {
  return MessageOf(ParseModel(Changed(change)).status());
}

void Replace(std::string* text, const std::string& from, const std::string& to) {
  REQUIRE(text->find(from) != std::string::npos);
  text->replace(text->find(from), from.size(), to);
}

TEST_CASE("MlpModelFile: a model reads back as it was, to the bit", "[mlp]") {
  const Model model = SampleModel();
  const absl::StatusOr<Model> read = ParseModel(ModelText(model));
  REQUIRE(MessageOf(read.status()) == "");
  CHECK(read->state.parameters == model.state.parameters);
  CHECK(read->state.statistics == model.state.statistics);
  CHECK(read->state.slots[0].empty());
  CHECK(ModelHyperparameters(read->parameters) == ModelHyperparameters(model.parameters));
  CHECK(read->reading.label == "kind");
  CHECK(read->schema.names == model.schema.names);
  CHECK(read->schema.table.columns[1].levels == model.schema.table.columns[1].levels);
  CHECK(read->schema.label_levels == model.schema.label_levels);
  CHECK(read->schema.scaling.deviation == model.schema.scaling.deviation);
  CHECK(ModelText(*read) == ModelText(model));
}

TEST_CASE("MlpModelFile: weights stand as PyTorch has them, without padding", "[mlp]") {
  const Model model = SampleModel();
  const std::string text = ModelText(model);
  const absl::StatusOr<Safetensors> file = ParseSafetensors(text);
  REQUIRE(file.ok());
  CHECK(file->tensors.size() == 3 * 2 + 2 * 4);
  const TensorView& weights = file->tensors.at("layers.0.weight");
  CHECK(weights.shape == std::vector<int64_t>{18, 3});
  CHECK(weights.At(17 * 3 + 2) == model.state.parameters[model.network.layers[0].WeightAt(2, 17)]);
  CHECK(file->tensors.at("layers.1.batch_norm.running_var").shape == std::vector<int64_t>{3});
  CHECK(file->tensors.at("layers.2.bias").At(0) == model.state.parameters[model.network.layers[2].bias]);
}

TEST_CASE("MlpModelFile: what does not make a model is named", "[mlp]") {
  CHECK_THAT(ErrorOf([](Metadata*, auto* tensors) {
               std::erase_if(*tensors, [](const Tensor& t) { return t.name == "layers.1.weight"; });
             }),
             Catch::Contains("tensor \"layers.1.weight\" is missing"));
  CHECK_THAT(ErrorOf([](Metadata*, auto* tensors) {
               Find(tensors, "layers.1.weight")->shape = {18, 3};
             }),
             Catch::Contains("tensor \"layers.1.weight\": shape [18, 3]: expected [3, 18]"));
  CHECK_THAT(ErrorOf([](Metadata*, auto* tensors) {
               tensors->push_back({"layers.3.bias", {1}, {0}});
             }),
             Catch::Contains("tensor \"layers.3.bias\": the network of these hyperparameters has no such"));
  CHECK_THAT(ErrorOf([](Metadata*, auto* tensors) {
               Find(tensors, "layers.0.batch_norm.running_var")->values[4] = -1;
             }),
             Catch::Contains("\"layers.0.batch_norm.running_var\": variance -1"));
  CHECK_THAT(
      ErrorOf([](Metadata* metadata, auto*) { Replace(&(*metadata)["hyperparameters"], "18,3", "18,4"); }),
      Catch::Contains("shape [3, 18]: expected [4, 18]"));
  CHECK_THAT(
      ErrorOf([](Metadata* metadata, auto*) { Replace(&(*metadata)["hyperparameters"], "gelu", "sine"); }),
      Catch::Contains("__metadata__: hyperparameters: hyperparameter activation = sine"));
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) {
               Replace(&(*metadata)["schema"], R"(,"label_levels":["cat",)",
                       R"(,"label_levels":["ant","cat",)");
             }),
             Catch::Contains("3 outputs for 4 label levels"));
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) { Replace(&(*metadata)["schema"], "1.5,", ""); }),
             Catch::Contains("__metadata__: schema: 2 means and 3 deviations: expected 3"));
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) { (*metadata)["version"] = "2"; }),
             Catch::Contains("version \"2\": this program reads \"1\""));
}

TEST_CASE("MlpModelFile: another program's weights are refused with what is missing", "[mlp]") {
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) { metadata->clear(); }),
             Catch::Contains("__metadata__ has no \"format\"") && Catch::Contains("winnow-mlp wrote"));
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) { (*metadata)["format"] = "pt"; }),
             Catch::Contains("format \"pt\""));
  CHECK_THAT(ErrorOf([](Metadata* metadata, auto*) { metadata->erase("schema"); }),
             Catch::Contains("__metadata__ has no \"schema\""));
}

TEST_CASE("MlpModelFile: errors name the file", "[mlp]") {
  const TempFolder folder;
  const std::string path = (folder / "model.safetensors").string();
  CHECK_THAT(MessageOf(ReadModel(path).status()), Catch::StartsWith(path + ": cannot open"));
  REQUIRE(WriteModel(path, SampleModel()).ok());
  CHECK(ReadModel(path).ok());
  std::filesystem::resize_file(path, 3);
  CHECK_THAT(MessageOf(ReadModel(path).status()), Catch::StartsWith(path + ": not safetensors"));
}

TEST_CASE("MlpModelFile: a header in which a bit turned is refused, or is another whole model", "[mlp]") {
  const std::string text = ModelText(SampleModel());
  const std::size_t tensors = text.rfind("}}") + 2;
  int refused = 0;
  for (std::size_t i = 0; i < tensors; ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    const absl::StatusOr<Model> read = ParseModel(damaged);
    refused += !read.ok();
    if (read.ok())
      CHECK(ParseModel(ModelText(*read)).ok());
    else
      CHECK(absl::IsInvalidArgument(read.status()));
  }
  CHECK(refused > static_cast<int>(tensors) / 2);
}

// Examples of https://protobuf.dev/programming-guides/encoding.
TEST_CASE("OnnxWriter: the wire format's bytes", "[mlp]") {
  ProtoMessage inner, outer, rest;
  inner.Whole(1, 150);
  CHECK(inner.bytes() == "\x08\x96\x01");
  outer.Message(3, inner);
  CHECK(outer.bytes() == "\x1a\x03\x08\x96\x01");
  rest.Bytes(2, "testing");
  rest.Whole(1, -2);
  rest.Real(20, 1);
  CHECK(rest.bytes() == std::string("\x12\x07testing"
                                    "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                    "\xa5\x01\0\0\x80\x3f",
                                    26));
}

TEST_CASE("Onnx: the same bytes for the same model, other bytes for another", "[mlp]") {
  Model other = SampleModel();
  CHECK(OnnxText(SampleModel()) == OnnxText(other));
  other.state.parameters[other.network.layers[2].bias] += 1;
  CHECK(OnnxText(SampleModel()) != OnnxText(other));
}

}  // namespace
}  // namespace winnow::mlp
