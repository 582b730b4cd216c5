#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"

namespace winnow::gbdt {

// The borders between one feature's bins. Value v is in bin (number of thresholds <= v), NaN in none. A
// categorical feature has a bin per category: bin b has categories[b].
struct FeatureCuts {
  std::vector<float> thresholds;  // ascending, distinct; each is a value of the training data
  bool has_missing = false;
  bool categorical = false;
  std::vector<int32_t> categories;  // ascending; those in the training data

  // At least 1.
  int bins() const;
  // bins() for a category unknown to the training data. REQUIRES: value is not NaN.
  int BinOf(float value) const;
  bool operator==(const FeatureCuts&) const = default;
};

// Bins are 16-bit numbers, one of which represents missing values.
constexpr int kMostCategories = 65535;

// Cuts are made from about this many rows, drawn by their numbers, if there are more.
constexpr int64_t kCutRows = 1 << 19;

// Whether cuts are made from the row with this number.
bool IsCutRow(int64_t row, int64_t all_rows);

// One bin per distinct value if there are at most max_bin of them, otherwise bins of about equal weight.
// Independent of the order of rows. A feature with missing values has one bin less at max_bin = 256 and
// 65536, so that value bins and the missing one fit one byte, or two. REQUIRES: 2 <= max_bin <= 65536; no
// infinities.
FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin);

// Makes the cuts of every feature of a table distributed over the ranks; this rank has the rows from
// first_row on. Uses the weights of rows with IsCutRow; all rows determine whether there are few enough
// values for a bin each. All ranks must call, and get the same cuts, however the rows are distributed.
// InvalidArgument, on all ranks: values of a categorical feature that are not categories, or too many
// categories.
absl::StatusOr<std::vector<FeatureCuts>> MakeCuts(const DataSet& local, int64_t first_row, int64_t all_rows,
                                                  int max_bin, ThreadPool* pool, Communicator* communicator);

// For a table that is completely on this rank. REQUIRES: categorical features contain categories.
std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool);

}  // namespace winnow::gbdt
