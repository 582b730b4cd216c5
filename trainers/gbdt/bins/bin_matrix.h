#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/bins/sparse_matrix.h"

namespace winnow::gbdt {

using FeatureBins = std::vector<std::vector<uint16_t>>;  // [feature][row]

// Empty for features that stay sparse. REQUIRES: cuts of data's features; data without infinities.
FeatureBins BinsOf(const DataSet& data, const std::vector<FeatureCuts>& cuts, ThreadPool* pool);

// The same. Frees each dense column when it has its bins.
FeatureBins TakeBins(const std::vector<FeatureCuts>& cuts, ThreadPool* pool, DataSet* data);

// A data set in bins: sparse features as a SparseMatrix, the others with one number of one byte (or two) per
// row and slot, stored twice: by row, for histograms, and by column, for dividing rows by one feature. The
// numbers are owned or memory-mapped.
class BinMatrix {
 public:
  // Pointers to the numbers: bytes if the layout is narrow, otherwise two bytes each.
  struct Storage {
    const void* by_row = nullptr;     // [row][slot]; null if no histograms will be made
    const void* by_column = nullptr;  // [slot][column_stride]
    int64_t column_stride = 0;        // >= rows
    std::shared_ptr<const void> owner;
  };

  BinMatrix() = default;
  BinMatrix(BinLayout layout, int64_t rows, Storage storage, SparseMatrix sparse = {})
      : layout_(std::move(layout)), rows_(rows), storage_(std::move(storage)), sparse_(std::move(sparse)) {}

  // This rank's rows of training data, in shared slots that are the same on all ranks. `bins`: BinsOf(data).
  // An error is one of `ranks`.
  static absl::StatusOr<BinMatrix> OfTraining(const DataSet& data, const FeatureBins& bins,
                                              const std::vector<FeatureCuts>& cuts, Communicator* ranks,
                                              ThreadPool* pool);
  // Rows of other data with the same features, by column only.
  static BinMatrix OfOther(const DataSet& data, const FeatureBins& bins, const std::vector<FeatureCuts>& cuts,
                           ThreadPool* pool);

  int64_t rows() const { return rows_; }
  int slots() const { return static_cast<int>(layout_.slots.size()); }
  const BinLayout& layout() const { return layout_; }
  bool narrow() const { return narrow_; }

  // REQUIRES: Bin matches narrow(); for Rows: storage has them.
  template <typename Bin>
  const Bin* Rows() const {
    return static_cast<const Bin*>(storage_.by_row);
  }
  template <typename Bin>
  const Bin* Column(int slot) const {
    return static_cast<const Bin*>(storage_.by_column) + slot * storage_.column_stride;
  }
  const Storage& storage() const { return storage_; }
  const SparseMatrix& sparse() const { return sparse_; }

  // Returns rows [begin, end) of this matrix, sharing its numbers.
  BinMatrix Part(int64_t begin, int64_t end) const;

  // Returns the feature's bin in a row; its number of values if missing.
  int BinOf(int64_t row, int feature) const;

 private:
  BinLayout layout_;
  int64_t rows_ = 0;
  Storage storage_;
  SparseMatrix sparse_;
  bool narrow_ = layout_.narrow();
};

}  // namespace winnow::gbdt
