#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// A row whose query id is not that of the row before.
struct GroupStart {
  std::string id;
  int64_t row = 0;
  CellPlace place;
};

// DataSet::group_begin of a table of `rows` rows, from its starts in order of row; neighbours of one id are
// one group. InvalidArgument, with the place, for an id that comes back after another one.
absl::StatusOr<std::vector<int64_t>> GroupBegins(const std::vector<GroupStart>& starts, int64_t rows);

// Replaces the weights of rows by those of groups. InvalidArgument, beginning with `path`, for a group whose
// rows do not weigh the same. An empty *weight stays empty.
absl::Status WeighGroups(const std::string& path, const std::vector<int64_t>& group_begin,
                         std::vector<float>* weight);

}  // namespace winnow
