#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/hyperparameters/hyperparameters.h"
#include "trainers/gbdt/model/model.h"
#include "trainers/gbdt/trainer.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {

// InvalidArgument unless the data are suitable for training or validation: valid labels and weights for the
// objective, no infinite features. `what` names the data ("training data") in the message.
absl::Status CheckTrainable(const GbdtParameters& parameters, const DataSet& data, const std::string& what);

// This rank's raw rows, for models whose trees were not grown from the data's bins.
struct RawTables {
  DataSet train;
  std::optional<DataSet> validation;

  // [class][row]
  std::vector<float> TrainMargins(const Model& model, ThreadPool* pool) const;
  std::vector<float> ValidationMargins(const Model& model,
                                       ThreadPool* pool) const;  // empty if there is none
};

struct LoadedData {
  TrainingData data;
  std::optional<RawTables> tables;  // if the request continues a model
};

// The features of a model that training continues: its trees refer to them by number.
struct ModelFeatures {
  std::vector<std::string> names;
  DataSchema schema;  // for a model of XGBoost: a numeric column for each feature
};

// Reads, checks and bins the request's data, or maps the result of an earlier run on the same files. Each
// rank gets its rows: of replicated files a part of all, otherwise those of its own files. Data for a
// continued model (null: none) are read as the model's features, or rejected if they lack one. *warning:
// which columns that model lacks, or why the cache is not used, or "". Errors of this rank's files are this
// rank's alone.
absl::StatusOr<LoadedData> LoadTrainingData(const TrainRequest& request, const ModelFeatures* continued,
                                            Communicator* ranks, ThreadPool* pool, std::string* warning);

// In a parent of trainers (ServeForks): keeps the data of the request, if they can be read, for the children.
// Leaves no thread behind.
void PrepareTrainingData(const TrainRequest& request);

}  // namespace winnow::gbdt
