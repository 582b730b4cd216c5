#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {

// The bins of a table's sparse features, of those rows only in which a feature is not in its default bin: by
// row, for histograms, and by column, for dividing rows by one feature. The numbers are owned or
// memory-mapped. In a row's list, bin b of the k-th sparse feature is number layout.sparse_bins[k] + b.
class SparseMatrix {
 public:
  struct Storage {
    std::span<const uint64_t>
        row_begin;  // [row + 1], positions in row_bins; empty if no histograms will be made
    std::span<const uint32_t> row_bins;      // of each row ascending
    std::span<const uint64_t> column_begin;  // [sparse feature + 1], positions in column_rows and column_bins
    std::span<const uint32_t> column_rows;   // of each feature ascending
    std::span<const uint16_t> column_bins;   // of the feature, from 0
    std::shared_ptr<const void> owner;
  };

  SparseMatrix() = default;
  explicit SparseMatrix(Storage storage) : storage_(std::move(storage)) {}

  // REQUIRES: layout of these cuts, in which exactly the sparse features of `data` are sparse.
  static SparseMatrix Of(const DataSet& data, const std::vector<FeatureCuts>& cuts, const BinLayout& layout,
                         bool with_rows, ThreadPool* pool);

  const Storage& storage() const { return storage_; }
  // The matrix of the rows from `begin` on.
  SparseMatrix From(int64_t begin) const;

  // The numbers of a row's bins.
  std::span<const uint32_t> BinsOfRow(int64_t row) const {
    const std::size_t at = storage_.row_begin[first_row_ + row];
    return storage_.row_bins.subspan(at, storage_.row_begin[first_row_ + row + 1] - at);
  }
  // The bin of the k-th sparse feature in a row; default_bin where it has no entry.
  int BinOf(int k, int64_t row, int default_bin) const;

  // Partitions rows (ascending): those with left_bins[bin] of the k-th sparse feature first, both parts in
  // their order. `spare` has room for all. Returns the number of rows that go left.
  int64_t Divide(int k, const std::vector<uint8_t>& left_bins, int default_bin, uint32_t* rows,
                 uint32_t* spare, int64_t count) const;

 private:
  Storage storage_;
  int64_t first_row_ = 0;  // the number in the storage of row 0
};

}  // namespace winnow::gbdt
