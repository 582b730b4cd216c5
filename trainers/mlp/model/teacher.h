#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"
#include "trainers/mlp/model/model_file.h"
#include "trainers/mlp/network/crew.h"

namespace winnow::mlp {

// A teacher's outputs for training rows.
struct TeacherLogits {
  DenseData logits;      // `values`: [row][output]
  uint64_t content = 0;  // hash of the teacher's model
};

// Returns the outputs of the model file parameters.teacher for the rows of `train`, with the features of
// `schema`. InvalidArgument, naming the file, if it cannot teach a network with `outputs`: other features,
// classes or loss. REQUIRES: parameters.teacher is not "".
absl::StatusOr<TeacherLogits> AskTeacher(const MlpParameters& parameters, const DenseData& train,
                                         const FeatureSchema& schema, int outputs, Crew* crew);

// Returns `data` with the scaling `to` instead of `from`. A missing value, which counted as the mean, keeps
// that mean. REQUIRES: as many features.
DenseData Rescaled(const DenseData& data, const FeatureScaling& from, const FeatureScaling& to);

}  // namespace winnow::mlp
