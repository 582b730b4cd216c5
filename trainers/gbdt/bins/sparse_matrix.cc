#include "trainers/gbdt/bins/sparse_matrix.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace winnow::gbdt {
namespace {

struct OwnedEntries {
  std::vector<uint64_t> row_begin, column_begin;
  std::vector<uint32_t> row_bins, column_rows;
  std::vector<uint16_t> column_bins;
};

void FillByRow(const BinLayout& layout, int64_t rows, OwnedEntries* entries) {
  std::vector<uint64_t>& begin = entries->row_begin;
  begin.assign(rows + 1, 0);
  for (const uint32_t row : entries->column_rows) ++begin[row + 1];
  for (int64_t row = 0; row < rows; ++row) begin[row + 1] += begin[row];
  entries->row_bins.resize(entries->column_rows.size());
  std::vector<uint64_t> next(begin.begin(), begin.end() - 1);
  for (std::size_t k = 0; k < layout.sparse_features.size(); ++k) {
    for (uint64_t at = entries->column_begin[k]; at < entries->column_begin[k + 1]; ++at)
      entries->row_bins[next[entries->column_rows[at]]++] = layout.sparse_bins[k] + entries->column_bins[at];
  }
}

}  // namespace

SparseMatrix SparseMatrix::Of(const DataSet& data, const std::vector<FeatureCuts>& cuts,
                              const BinLayout& layout, bool with_rows, ThreadPool* pool) {
  constexpr std::size_t kColumnsPerTask = 64;
  const std::vector<int>& features = layout.sparse_features;
  auto owned = std::make_shared<OwnedEntries>();
  owned->column_begin.assign(features.size() + 1, 0);
  for (std::size_t k = 0; k < features.size(); ++k)
    owned->column_begin[k + 1] = owned->column_begin[k] + data.sparse[features[k]].rows.size();
  owned->column_rows.resize(owned->column_begin.back());
  owned->column_bins.resize(owned->column_begin.back());
  pool->Run(static_cast<int>((features.size() + kColumnsPerTask - 1) / kColumnsPerTask), [&](int task, int) {
    const std::size_t first = task * kColumnsPerTask;
    for (std::size_t k = first; k < std::min(features.size(), first + kColumnsPerTask); ++k) {
      const SparseColumn& column = data.sparse[features[k]];
      const FeatureCuts& of_feature = cuts[features[k]];
      const uint64_t begin = owned->column_begin[k];
      std::copy(column.rows.begin(), column.rows.end(), owned->column_rows.begin() + begin);
      for (std::size_t i = 0; i < column.values.size(); ++i) {
        const float value = column.values[i];
        owned->column_bins[begin + i] =
            static_cast<uint16_t>(std::isnan(value) ? ValueBins(of_feature) : of_feature.BinOf(value));
      }
    }
  });
  if (with_rows) FillByRow(layout, data.rows, owned.get());
  const OwnedEntries& entries = *owned;
  return SparseMatrix({entries.row_begin, entries.row_bins, entries.column_begin, entries.column_rows,
                       entries.column_bins, std::move(owned)});
}

SparseMatrix SparseMatrix::From(int64_t begin) const {
  SparseMatrix part = *this;
  part.first_row_ += begin;
  return part;
}

int SparseMatrix::BinOf(int k, int64_t row, int default_bin) const {
  const auto begin = storage_.column_rows.begin() + static_cast<std::ptrdiff_t>(storage_.column_begin[k]);
  const auto end = storage_.column_rows.begin() + static_cast<std::ptrdiff_t>(storage_.column_begin[k + 1]);
  const auto number = static_cast<uint32_t>(first_row_ + row);
  const auto at = std::lower_bound(begin, end, number);
  return at == end || *at != number ? default_bin : storage_.column_bins[at - storage_.column_rows.begin()];
}

int64_t SparseMatrix::Divide(int k, const std::vector<uint8_t>& left_bins, int default_bin, uint32_t* rows,
                             uint32_t* spare, int64_t count) const {
  if (count == 0) return 0;
  const uint32_t* const first = storage_.column_rows.data() + storage_.column_begin[k];
  const uint32_t* const end = storage_.column_rows.data() + storage_.column_begin[k + 1];
  const auto offset = static_cast<uint32_t>(first_row_);
  const uint32_t* at = std::lower_bound(first, end, rows[0] + offset);
  const bool default_left = left_bins[default_bin] != 0;
  int64_t left = 0, right = 0;
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t number = rows[i] + offset;
    while (at < end && *at < number) ++at;
    const bool goes_left = at < end && *at == number
                               ? left_bins[storage_.column_bins[at - storage_.column_rows.data()]] != 0
                               : default_left;
    if (goes_left)
      rows[left++] = rows[i];
    else
      spare[right++] = rows[i];
  }
  std::copy(spare, spare + right, rows + left);
  return left;
}

}  // namespace winnow::gbdt
