#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/data/data_set.h"
#include "trainers/mlp/data/dense_data.h"

namespace winnow::mlp {

// Rows as in their files, row-major.
struct RawRows {
  int64_t rows = 0;
  int features = 0;
  bool of_bytes = false;
  std::vector<uint8_t> bytes;        // [row][feature], if of_bytes; else
  std::vector<float> values;         // [row][feature]; NaN: missing (in tables only)
  std::vector<float> label, weight;  // [row]; or empty: none, all 1
};

// The rows of a channel to read.
struct RowShare {
  Communicator* ranks = nullptr;  // null: all of them; otherwise those of this rank's files
  int threads = 1;
  bool label_may_be_absent = false;
};

// Returns the rows of `path`, tables or IDX arrays. With `like` they have its features, or InvalidArgument;
// without, sets *schema except the scaling. An absent entry of LIBSVM is 0. InvalidArgument also for infinite
// features, NaN features that are not missing values, groups, and options for another kind of file.
absl::StatusOr<RawRows> ReadRawRows(const std::string& path, const DataOptions& reading,
                                    const FeatureSchema* like, const RowShare& share, FeatureSchema* schema);

// Returns the files of this rank's rows of `path`, from which a key of the cache is made.
absl::StatusOr<std::vector<std::string>> FilesOfChannel(const std::string& path, const DataOptions& reading,
                                                        Communicator* ranks);

// Returns all ranks' rows, in order of rank. InvalidArgument, naming `path`, if they are inconsistent.
// `schema` is this rank's.
absl::StatusOr<RawRows> GatherRows(const std::string& path, const FeatureSchema& schema, RawRows mine,
                                   Communicator* ranks);

// Returns training (first) and validation rows, split as by SplitByFraction.
absl::StatusOr<std::pair<RawRows, RawRows>> SplitRows(const RawRows& all, double validation_fraction,
                                                      uint64_t seed);

// Returns one mean and deviation for images and other arrays, and one per column for tables, without missing
// values. The deviation of constant values is 1. Without `standardise`, means are 0 and deviations 1.
FeatureScaling ScalingOf(const RawRows& rows, const FeatureSchema& schema, bool standardise);

// Converts values to inputs; a missing one to 0, the mean. InvalidArgument, beginning with `path`, if that
// exceeds a float. Bytes are unchanged.
absl::Status ScaleValues(const std::string& path, const FeatureSchema& schema, RawRows* rows);

// Sets the two factors of DenseData that convert bytes to inputs.
void SetByteScaling(const FeatureScaling& scaling, DenseData* data);

}  // namespace winnow::mlp
