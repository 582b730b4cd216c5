#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// A row whose query id differs from that of the previous row.
struct GroupStart {
  std::string id;
  int64_t row = 0;
  CellPlace place;
};

// Returns DataSet::group_begin of a table of `rows` rows, from its group starts in row order; neighbours with
// one id are one group. InvalidArgument, with the place, for an id that occurs again after another one.
absl::StatusOr<std::vector<int64_t>> GroupBegins(const std::vector<GroupStart>& starts, int64_t rows);

// Replaces the weights of rows by those of groups. InvalidArgument, beginning with `path`, for a group with
// different weights. An empty *weight stays empty.
absl::Status WeighGroups(const std::string& path, const std::vector<int64_t>& group_begin,
                         std::vector<float>* weight);

}  // namespace winnow
