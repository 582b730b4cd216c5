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

// The data for training and validation: all rows, on every rank.
struct TrainingData {
  DenseData train;
  std::optional<DenseData> validation;
  FeatureSchema schema;
  int outputs = 0;           // of the network: classes, or 1 for logistic and regression
  int64_t batch_size = 0;    // the hyperparameter's, or the largest that the rows and ranks allow
  uint64_t fingerprint = 0;  // of rows, labels, weights and schema; the same on all ranks
};

// Reads, checks and scales the data of `files`, tables (CSV, LIBSVM) or IDX arrays, or maps the result of an
// earlier run on the same files. The result depends neither on ranks nor on threads (parameters.nthread). For
// sharded channels, every rank reads its own files and receives the others' rows, in the order of a single
// reader of the folder.
//
// All ranks call it. InvalidArgument, naming the file and what was expected, for unsuitable data: labels the
// loss does not allow, infinite or NaN pixels, early stopping without validation data. FailedPrecondition if
// the ranks have read different data. Others as ReadDataSet and the Communicator. An error of this rank's
// files is this rank's alone: the caller informs the others (Communicator::Fail). *warning: why the cache is
// not used, or "".
absl::StatusOr<TrainingData> LoadTrainingData(const TrainFiles& files, const MlpParameters& parameters,
                                              Communicator* ranks, std::string* warning);

// In a parent of trainers (ServeForks): keeps the data, if they can be read, for the children. Leaves no
// thread behind.
void PrepareTrainingData(const TrainFiles& files, const MlpParameters& parameters);

// Returns the rows of `path`, scaled like the training data of `schema`. Labels are empty if the file has
// none, and are not checked (CheckTargets). InvalidArgument if it has other features than `schema`. For IDX
// arrays, labels are in the file that belongs to the images' name, else in the one that reading.label names,
// if it exists.
absl::StatusOr<DenseData> LoadDataToPredict(const std::string& path, const DataOptions& reading,
                                            const FeatureSchema& schema, int threads);

}  // namespace winnow::mlp
