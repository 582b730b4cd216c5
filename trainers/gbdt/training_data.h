#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cache/section_writer.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/bins/bin_matrix.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/objective/targets.h"
#include "trainers/gbdt/tree/fixed_gradients.h"

namespace winnow::gbdt {

// This rank's rows of a data set in bins, with their targets.
struct BinnedRows {
  BinMatrix matrix;
  Targets targets;
  int64_t all_rows = 0;               // over all ranks
  std::shared_ptr<const void> owner;  // of the arrays of targets

  RowShare share() const { return {targets.first_row, targets.rows, all_rows}; }
};

// All inputs of training. They are the same on all ranks, except for the rows.
struct TrainingData {
  std::vector<std::string> feature_names;
  DataSchema schema;
  std::vector<FeatureCuts> cuts;
  BinnedRows train;
  std::optional<BinnedRows> validation;
  // changes with any value that training uses, but not with the distribution of rows
  uint64_t fingerprint = 0;
};

// Bins of data in memory: `train` and `validation` (nullable) are this rank's rows, from DataSet::first_row
// on, or none. An error is one of `ranks`. REQUIRES: CheckTrainable of both, on every rank with rows.
absl::StatusOr<TrainingData> MakeTrainingData(DataSet train, std::optional<DataSet> validation, int max_bin,
                                              Communicator* ranks, ThreadPool* pool);

// Returns the rows of rank `rank` of `size` from `all`, which has those of all ranks.
TrainingData PartOf(TrainingData all, int rank, int size);

// Changes with the content of the sections, so that entries of other versions are rejected.
inline constexpr const char* kTrainingFileVersion = "winnow-gbdt bins 5";

// Writes training data as sections of a cache file, with arrays in their memory layout.
absl::Status WriteTrainingData(const TrainingData& data, SectionWriter& writer);

// Returns the training data with its arrays in *file, which it keeps. DataLoss if the sections are
// inconsistent.
absl::StatusOr<TrainingData> ReadTrainingData(std::shared_ptr<const MappedFile> file);

}  // namespace winnow::gbdt
