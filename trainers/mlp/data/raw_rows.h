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

// Rows as their files hold them, row-major.
struct RawRows {
  int64_t rows = 0;
  int features = 0;
  bool of_bytes = false;
  std::vector<uint8_t> bytes;        // [row][feature], if of_bytes; else
  std::vector<float> values;         // [row][feature]; NaN: missing (of tables alone)
  std::vector<float> label, weight;  // [row]; or empty: none, all 1
};

// Whose rows of a channel are read.
struct RowShare {
  Communicator* ranks = nullptr;  // null: all of them; else those of the files that this rank takes
  int threads = 1;
  bool label_may_be_absent = false;
};

// The rows of `path`, tables or IDX arrays. With `like` they have its features, or InvalidArgument; without,
// *schema becomes what they have, but for the scaling. Of LIBSVM an entry that is absent is 0.
// InvalidArgument too for infinite or NaN features that stand for no missing value, for groups, and for
// options that go with another kind of file.
absl::StatusOr<RawRows> ReadRawRows(const std::string& path, const DataOptions& reading,
                                    const FeatureSchema* like, const RowShare& share, FeatureSchema* schema);

// The files that make this rank's rows of `path`: what a key of the cache is made of.
absl::StatusOr<std::vector<std::string>> FilesOfChannel(const std::string& path, const DataOptions& reading,
                                                        Communicator* ranks);

// All ranks' rows, in order of rank. InvalidArgument, naming `path`, if they do not go together. `schema` is
// this rank's.
absl::StatusOr<RawRows> GatherRows(const std::string& path, const FeatureSchema& schema, RawRows mine,
                                   Communicator* ranks);

// Training (first) and validation rows, as SplitByFraction parts them.
absl::StatusOr<std::pair<RawRows, RawRows>> SplitRows(const RawRows& all, double validation_fraction,
                                                      uint64_t seed);

// Of images and other arrays one mean and deviation, of tables one per column, in which missing values do not
// count. Of what never varies the deviation is 1. Without `standardise`, means are 0 and deviations 1.
FeatureScaling ScalingOf(const RawRows& rows, const FeatureSchema& schema, bool standardise);

// values become inputs; a missing one 0, the mean's. InvalidArgument, beginning with `path`, where that is
// beyond a float. Bytes stay.
absl::Status ScaleValues(const std::string& path, const FeatureSchema& schema, RawRows* rows);

// The two factors of DenseData that make inputs of bytes.
void SetByteScaling(const FeatureScaling& scaling, DenseData* data);

}  // namespace winnow::mlp
