#include "trainers/data/groups.h"

#include <string_view>
#include <unordered_set>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/cell.h"

namespace winnow {

absl::StatusOr<std::vector<int64_t>> GroupBegins(const std::vector<GroupStart>& starts, int64_t rows) {
  std::vector<int64_t> begins;
  std::unordered_set<std::string_view> seen;
  const std::string* before = nullptr;
  for (const GroupStart& start : starts) {
    if (before != nullptr && *before == start.id) continue;
    before = &start.id;
    if (!seen.insert(start.id).second) {
      return absl::InvalidArgumentError(fmt::format(
          "{}:{}: query id \"{}\" occurs again after other ones; expected the rows of a query to be "
          "contiguous: sort the data by it",
          *start.place.path, start.place.line, Excerpt(start.id)));
    }
    begins.push_back(start.row);
  }
  begins.push_back(rows);
  return begins;
}

absl::Status WeighGroups(const std::string& path, const std::vector<int64_t>& group_begin,
                         std::vector<float>* weight) {
  if (weight->empty()) return absl::OkStatus();
  std::vector<float> of_groups;
  for (size_t group = 0; group + 1 < group_begin.size(); ++group) {
    const auto begin = static_cast<size_t>(group_begin[group]),
               end = static_cast<size_t>(group_begin[group + 1]);
    for (size_t row = begin; row < end; ++row) {
      if ((*weight)[row] == (*weight)[begin]) continue;
      return absl::InvalidArgumentError(fmt::format(
          "{}: weights {} and {} in the query of rows {} to {}; expected one weight for all rows of "
          "a query",
          path, (*weight)[begin], (*weight)[row], begin + 1, end));
    }
    of_groups.push_back((*weight)[begin]);
  }
  *weight = std::move(of_groups);
  return absl::OkStatus();
}

}  // namespace winnow
