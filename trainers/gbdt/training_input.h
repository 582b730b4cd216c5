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

// InvalidArgument unless the data can be trained on or validated with: labels and weights the objective
// takes, no infinite features. `what` names the data ("training data") in the message.
absl::Status CheckTrainable(const GbdtParameters& parameters, const DataSet& data, const std::string& what);

// This rank's rows as they were read, for models whose trees were not grown from the data's bins.
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
  std::optional<RawTables> tables;  // where the request continues a model
};

// The features of a model that training goes on from: its trees know them by number.
struct ModelFeatures {
  std::vector<std::string> names;
  DataSchema schema;  // of a model of XGBoost's: a column of numbers for each feature
};

// Reads, checks and bins what the request asks for, or maps what an earlier run has made of the same files.
// Each rank gets its rows: of files that are replicated a part of all, else those of its own files. Data for
// a model that is continued (null: none) are read as the model's features, or refused where they lack one.
// *warning: what keeps the cache from being used, or "". Errors of this rank's files are this rank's alone.
absl::StatusOr<LoadedData> LoadTrainingData(const TrainRequest& request, const ModelFeatures* continued,
                                            Communicator* ranks, ThreadPool* pool, std::string* warning);

}  // namespace winnow::gbdt
