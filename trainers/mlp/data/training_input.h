#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/train_files.h"
#include "trainers/data/data_set.h"
#include "trainers/mlp/data/dense_data.h"
#include "trainers/mlp/hyperparameters/hyperparameters.h"

namespace winnow::mlp {

// What is trained on and validated with: all rows, on every rank.
struct TrainingData {
  DenseData train;
  std::optional<DenseData> validation;
  FeatureSchema schema;
  int outputs = 0;           // of the network: classes, or 1 for logistic and regression
  uint64_t fingerprint = 0;  // of rows, labels, weights and schema; the same on all ranks
};

// Reads, checks and scales what `files` names, tables (CSV, LIBSVM) or IDX arrays, or maps what an earlier
// run has made of the same files. The result depends neither on ranks nor on threads (parameters.nthread): of
// channels that are sharded, every rank reads its own files and gets the others' rows from them, in the order
// of one that had read the folder.
//
// All ranks call it. InvalidArgument, naming the file and what was expected, for what cannot be trained on:
// labels the loss does not take, infinite or NaN pixels, a batch larger than the training data, early
// stopping without validation data. FailedPrecondition if the ranks have read different data. Others as of
// ReadDataSet and the Communicator. An error of this rank's files is this rank's alone: the caller tells the
// others (Communicator::Fail). *warning: what keeps the cache from being used, or "".
absl::StatusOr<TrainingData> LoadTrainingData(const TrainFiles& files, const MlpParameters& parameters,
                                              Communicator* ranks, std::string* warning);

// The rows of `path`, scaled as the training data of `schema` were; their label is empty where the file has
// none, and is as it stands (CheckTargets). InvalidArgument if it has other features than `schema`. Of IDX
// arrays, labels stand in the file that the name of the images' leads to, else in the one that reading.label
// names, if it is there.
absl::StatusOr<DenseData> LoadDataToPredict(const std::string& path, const DataOptions& reading,
                                            const FeatureSchema& schema, int threads);

}  // namespace winnow::mlp
