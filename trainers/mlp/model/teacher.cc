#include "trainers/mlp/model/teacher.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status_text.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/mlp/network/distillation.h"
#include "trainers/mlp/network/layer_stack.h"

namespace winnow::mlp {
namespace {

float At(const std::vector<float>& values, int feature) {
  return values.size() == 1 ? values[0] : values[feature];
}

bool IsSame(const FeatureScaling& a, const FeatureScaling& b) {
  return a.mean == b.mean && a.deviation == b.deviation;
}

absl::Status CheckFeatures(const FeatureSchema& teacher, const FeatureSchema& ours) {
  if (teacher.names == ours.names && teacher.image_rows == ours.image_rows &&
      teacher.image_columns == ours.image_columns && teacher.label_levels == ours.label_levels)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a model of other features or label texts than the training data have: expected the same, in the same "
      "order");
}

}  // namespace

DenseData Rescaled(const DenseData& data, const FeatureScaling& from, const FeatureScaling& to) {
  DenseData rescaled = data;
  if (IsSame(from, to)) return rescaled;
  if (!data.bytes.empty()) {  // images: one mean and deviation for all pixels
    const float factor = from.deviation[0] / to.deviation[0];
    rescaled.byte_scale = data.byte_scale * factor;
    rescaled.byte_shift = data.byte_shift * factor + (from.mean[0] - to.mean[0]) / to.deviation[0];
    return rescaled;
  }
  auto owned = std::make_shared<std::vector<float>>(data.values.begin(), data.values.end());
  for (int64_t row = 0; row < data.rows; ++row) {
    float* const values = owned->data() + row * data.features;
    for (int f = 0; f < data.features; ++f) {
      const float raw = values[f] * At(from.deviation, f) + At(from.mean, f);
      values[f] = (raw - At(to.mean, f)) / At(to.deviation, f);
    }
  }
  rescaled.values = *owned;
  rescaled.owner = std::move(owned);
  return rescaled;
}

absl::StatusOr<TeacherLogits> AskTeacher(const MlpParameters& parameters, const DenseData& train,
                                         const FeatureSchema& schema, int outputs, Crew* crew) {
  const absl::StatusOr<Model> teacher = ReadModel(parameters.teacher);
  if (!teacher.ok()) return teacher.status();
  absl::Status status = CheckTeacher(parameters, train.features, outputs, teacher->parameters.loss,
                                     teacher->network.inputs(), teacher->network.outputs());
  if (status.ok()) status = CheckFeatures(teacher->schema, schema);
  if (!status.ok())
    return absl::InvalidArgumentError(fmt::format("{}: {}", parameters.teacher, MessageOf(status)));
  const DenseData inputs = Rescaled(train, schema.scaling, teacher->schema.scaling);
  return TeacherLogits{MakeDenseData(teacher->network.outputs(),
                                     ForwardRows(teacher->network, teacher->parameters, teacher->state,
                                                 inputs, 0, inputs.rows, crew),
                                     {}),
                       StableHash(ModelText(*teacher))};
}

}  // namespace winnow::mlp
