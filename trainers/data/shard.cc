#include "trainers/data/shard.h"

#include <algorithm>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "trainers/data/file_source.h"

namespace winnow {
namespace {

// floor(rows * rank / size), without overflow.
int64_t Border(int64_t rows, int rank, int size) { return rows / size * rank + rows % size * rank / size; }

template <typename T>
void Keep(std::vector<T>* values, int64_t begin, int64_t end) {
  if (!values->empty()) *values = std::vector<T>(values->begin() + begin, values->begin() + end);
}

}  // namespace

std::pair<int64_t, int64_t> RowRange(int64_t rows, int rank, int size) {
  return {Border(rows, rank, size), Border(rows, rank + 1, size)};
}

std::pair<int64_t, int64_t> GroupRowRange(std::span<const int64_t> group_begin, int rank, int size) {
  const auto at_group = [&](int64_t border) {
    return *(std::upper_bound(group_begin.begin(), group_begin.end(), border) - 1);
  };
  const auto [begin, end] = RowRange(group_begin.back(), rank, size);
  return {at_group(begin), at_group(end)};
}

DataSet TakeRows(DataSet all, std::pair<int64_t, int64_t> range) {
  const auto [begin, end] = range;
  for (std::vector<float>& column : all.columns) Keep(&column, begin, end);
  for (SparseColumn& column : all.sparse) {
    const auto [first, last] = column.EntriesOf(begin, end);
    Keep(&column.rows, static_cast<int64_t>(first), static_cast<int64_t>(last));
    Keep(&column.values, static_cast<int64_t>(first), static_cast<int64_t>(last));
    for (uint32_t& row : column.rows) row -= static_cast<uint32_t>(begin);
  }
  Keep(&all.label, begin, end);
  if (all.group_begin.empty()) {
    Keep(&all.weight, begin, end);
  } else {
    const auto position = [&](int64_t row) {
      return std::lower_bound(all.group_begin.begin(), all.group_begin.end(), row) - all.group_begin.begin();
    };
    const int64_t first = position(begin), last = position(end);
    Keep(&all.weight, first, last);
    all.group_begin = {all.group_begin.begin() + first, all.group_begin.begin() + last + 1};
    for (int64_t& row : all.group_begin) row -= begin;
  }
  all.rows = end - begin;
  all.first_row += begin;
  return all;
}

absl::StatusOr<std::vector<std::string>> ShardFiles(const std::string& path, int rank, int size) {
  absl::StatusOr<std::vector<std::string>> files = ListFiles(path);
  if (!files.ok()) return files.status();
  const auto count = static_cast<int64_t>(files->size());
  if (count < size) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: {} file{} for {} ranks; expected at least one file for each, as its rows are to be sharded "
        "by file",
        path, count, count == 1 ? "" : "s", size));
  }
  const auto [begin, end] = RowRange(count, rank, size);
  return std::vector<std::string>(files->begin() + begin, files->begin() + end);
}

}  // namespace winnow
