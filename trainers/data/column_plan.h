#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// The role of each column of a file, by position from 0.
struct ColumnPlan {
  int label = -1;             // -1: the file has none
  int weight = -1;            // -1: none is wanted
  int group = -1;             // -1: none is wanted
  std::vector<int> features;  // in the order of `like` if there is one, else of the file
};

// The name of column `position` in a file without a header.
std::string PositionName(size_t position);

// Finds the columns of `options` among `names`, the file's columns; without a header these are
// PositionName()s, and the options may also give numbers from 0. `like` (nullable) as in ReadDataSet.
// InvalidArgument, beginning with `path`, for a missing column (with the nearest name and those available),
// two columns of one name, a column with two roles, and a table without features.
absl::StatusOr<ColumnPlan> PlanColumns(const std::string& path, const std::vector<std::string>& names,
                                       bool has_header, const DataOptions& options, const DataSchema* like);

}  // namespace winnow
