#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// The rows [first, second) of `rows` that rank `rank` of `size` takes: contiguous, in order of rank, all of
// them, and at most one more for one rank than for another. REQUIRES: 0 <= rank < size.
std::pair<int64_t, int64_t> RowRange(int64_t rows, int rank, int size);

// The same for rows in groups: each border moves back to where a group begins. A rank may get none.
std::pair<int64_t, int64_t> GroupRowRange(std::span<const int64_t> group_begin, int rank, int size);

// The rows of `range` alone, with the groups they are. REQUIRES: a group is in the range whole or not at all.
DataSet TakeRows(DataSet all, std::pair<int64_t, int64_t> range);

// The files of a folder that rank `rank` of `size` takes: in order of name, contiguous, nearly as many as
// others. InvalidArgument if there are fewer files than ranks; errors as of ListFiles.
absl::StatusOr<std::vector<std::string>> ShardFiles(const std::string& path, int rank, int size);

}  // namespace winnow
