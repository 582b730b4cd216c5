#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Returns the rows [first, second) of `rows` for rank `rank` of `size`: contiguous, in order of rank,
// covering all rows, with sizes that differ by at most one. REQUIRES: 0 <= rank < size.
std::pair<int64_t, int64_t> RowRange(int64_t rows, int rank, int size);

// RowRange for rows in groups: each border moves back to the start of a group. A rank may get none.
std::pair<int64_t, int64_t> GroupRowRange(std::span<const int64_t> group_begin, int rank, int size);

// Returns the rows of `range` with their groups. REQUIRES: a group is in the range completely or not at all.
DataSet TakeRows(DataSet all, std::pair<int64_t, int64_t> range);

// Returns the files of a folder for rank `rank` of `size`: in order of name, contiguous, in nearly equal
// numbers. InvalidArgument if there are fewer files than ranks; errors as ListFiles.
absl::StatusOr<std::vector<std::string>> ShardFiles(const std::string& path, int rank, int size);

}  // namespace winnow
