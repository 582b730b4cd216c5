#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/network/crew.h"

namespace winnow::mlp {

// What a teacher says of training rows.
struct TeacherLogits {
  DenseData logits;      // `values`: [row][output]
  uint64_t content = 0;  // hash of the teacher's model
};

// What the model that parameters.teacher names gives for the rows of `train`, whose features are `schema`'s.
// InvalidArgument, naming the file, where it cannot teach a network with `outputs`: other features, classes
// or loss. REQUIRES: parameters.teacher is not "".
absl::StatusOr<TeacherLogits> AskTeacher(const MlpParameters& parameters, const DenseData& train,
                                         const FeatureSchema& schema, int outputs, Crew* crew);

// `data`, which are scaled as `from` says, as they would be by the scaling `to`; a missing value, which
// counted as the mean, stays that mean. REQUIRES: as many features.
DenseData Rescaled(const DenseData& data, const FeatureScaling& from, const FeatureScaling& to);

}  // namespace winnow::mlp
