#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/bins/bin_matrix.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/objective/targets.h"
#include "trainers/gbdt/tree/fixed_gradients.h"

namespace winnow::gbdt {

// This rank's rows of a data set in bins, with what is to be learned of them.
struct BinnedRows {
  BinMatrix matrix;
  Targets targets;
  int64_t all_rows = 0;               // of all ranks
  std::shared_ptr<const void> owner;  // of the arrays of targets

  RowShare share() const { return {targets.first_row, targets.rows, all_rows}; }
};

// Everything that training reads. It is the same, but for the rows, on all ranks.
struct TrainingData {
  std::vector<std::string> feature_names;
  DataSchema schema;
  std::vector<FeatureCuts> cuts;
  BinnedRows train;
  std::optional<BinnedRows> validation;
  uint64_t fingerprint = 0;  // changes with any value that training sees, not with how rows are shared out
};

// Bins of data in memory: `train` and `validation` (nullable) are this rank's rows, from DataSet::first_row on.
// REQUIRES: CheckTrainable of both, on every rank. An error is one of `ranks`.
absl::StatusOr<TrainingData> MakeTrainingData(DataSet train, std::optional<DataSet> validation, int max_bin,
                                              Communicator* ranks, ThreadPool* pool);

// The rows of `all`, which has those of all ranks, that rank `rank` of `size` takes.
TrainingData PartOf(TrainingData all, int rank, int size);

}  // namespace winnow::gbdt
