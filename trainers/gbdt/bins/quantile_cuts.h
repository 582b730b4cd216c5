#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"

namespace winnow::gbdt {

// Where one feature's values are cut into bins. Value v lies in bin (number of thresholds <= v), NaN in none.
// The bins of a categorical feature are its categories: bin b holds categories[b].
struct FeatureCuts {
  std::vector<float> thresholds;  // ascending, distinct; each is a value of the training data
  bool has_missing = false;
  bool categorical = false;
  std::vector<int32_t> categories;  // ascending, those that the training data have

  // At least 1.
  int bins() const;
  // REQUIRES: value is not NaN. bins() for a category that the training data do not have: it lies in none.
  int BinOf(float value) const;
  bool operator==(const FeatureCuts&) const = default;
};

// Bins are numbers of 16 bits, and one of them stands for missing values.
constexpr int kMostCategories = 65535;

// Cuts are made from about this many rows, drawn by their numbers, if there are more.
constexpr int64_t kCutRows = 1 << 19;

// Whether the row of this number is one of those from which cuts are made.
bool IsCutRow(int64_t row, int64_t all_rows);

// One bin per distinct value where there are at most max_bin of them, else bins of about equal weight. Does
// not depend on the order of the rows. A feature with missing values has one bin less at max_bin = 256
// and 65536, so that value bins and the missing one fit a byte, or two. REQUIRES: 2 <= max_bin <= 65536; no
// infinities.
FeatureCuts MakeCuts(const std::vector<float>& column, const std::vector<float>& weight, int max_bin);

// The same for every feature of a table whose rows the ranks share, this one those from first_row on; the
// weights are then those of rows for which IsCutRow, and whether values are few enough for a bin each is seen
// from all rows. All ranks get the same cuts, whatever rows each of them holds. All must call.
// InvalidArgument, at all ranks: values of a categorical feature that are no categories, or too many of them.
absl::StatusOr<std::vector<FeatureCuts>> MakeCuts(const DataSet& local, int64_t first_row, int64_t all_rows,
                                                  int max_bin, ThreadPool* pool, Communicator* communicator);

// Of a table that is all here. REQUIRES: categorical features hold categories.
std::vector<FeatureCuts> MakeCuts(const DataSet& data, int max_bin, ThreadPool* pool);

}  // namespace winnow::gbdt
