// Models of winnow-mlp, in safetensors: what is accepted can be written, read back the same, and predicted
// with.

#include "tests/fuzz/fuzz.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/model/safetensors.h"
#include "trainers/mlp/network/crew.h"
#include "trainers/mlp/network/layer_stack.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::mlp;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const absl::StatusOr<Safetensors> file = ParseSafetensors(text); file.ok()) {
    size_t bytes = 0;
    for (const auto& [name, tensor] : file->tensors) bytes += tensor.bytes.size();
    fuzz::Require(bytes < size, "tensors are parts of the file");
  }
  const absl::StatusOr<Model> model = ParseModel(text);
  if (!model.ok()) return 0;
  const std::string written = ModelText(*model);
  const absl::StatusOr<Model> again = ParseModel(written);
  fuzz::Require(again.ok(), "a model that was read can be written: " + again.status().ToString());
  fuzz::Require(ModelText(*again) == written, "a model comes back as it was written");
  fuzz::Require(!OnnxText(*model).empty(), "a model can be exported");
  static Crew crew(1);
  const DenseData row = MakeDenseData(
      model->schema.features, std::vector<float>(static_cast<size_t>(model->schema.features), 0.5f), {});
  const std::vector<float> outputs =
      ForwardRows(model->network, model->parameters, model->state, row, 0, 1, &crew);
  fuzz::Require(outputs.size() == static_cast<size_t>(model->network.outputs()), "each output has a value");
  return 0;
}
