// Models of winnow-gbdt and XGBoost, in JSON and UBJSON: what is accepted can be written, read back the same,
// and predicted with.

#include <cmath>

#include "tests/fuzz/fuzz.h"
#include "trainers/gbdt/model/model_file.h"

namespace {

constexpr size_t kMostFeatures = 4096, kMostTrees = 4096;

winnow::DataSet SomeRows(size_t features) {
  winnow::DataSet data;
  data.rows = 3;
  data.columns.assign(features, {0.5f, std::nanf(""), -1e30f});
  return data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace winnow;
  using namespace winnow::gbdt;
  const absl::StatusOr<Model> model = ParseModel({reinterpret_cast<const char*>(data), size});
  if (!model.ok()) return 0;
  const std::string json = ModelText(*model);
  const absl::StatusOr<Model> again = ParseModel(json);
  fuzz::Require(again.ok(), "a model that was read can be written: " + again.status().ToString());
  fuzz::Require(ModelText(*again) == json, "a model comes back as it was written");
  const absl::StatusOr<Model> packed = ParseModel(ModelText(*model, ModelFormat::kUbjson));
  fuzz::Require(packed.ok() && ModelText(*packed) == json, "both formats hold the same model");
  if (model->feature_names.size() > kMostFeatures || model->trees.size() > kMostTrees) return 0;
  const DataSet rows = SomeRows(model->feature_names.size());
  const std::vector<float> margins = PredictMargins(*model, rows, model->used_rounds());
  fuzz::Require(margins.size() == 3 * static_cast<size_t>(model->parameters.classes()),
                "each class has margins");
  (void)PredictLeaves(*model, rows, model->used_rounds());
  return 0;
}
