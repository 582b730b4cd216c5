#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trainers/gbdt/bins/bin_matrix.h"
#include "trainers/gbdt/tree/fixed_gradients.h"
#include "trainers/gbdt/tree/kernels.h"
#include "trainers/gbdt/tree/sparse_sums.h"

namespace winnow::gbdt {

// The slots of a matrix in a tree's histograms, and their positions: bin b of the k-th is at k * pad() + b.
class HistogramShape {
 public:
  HistogramShape() = default;
  // Only slots of the features in `features`, and all sparse features if one is among them. Keeps a reference
  // to the layout.
  HistogramShape(const BinLayout& layout, const std::vector<int>& features);

  int slots() const { return static_cast<int>(slots_.size()); }
  int slot(int k) const { return slots_[k]; }
  int64_t pad() const { return pad_; }
  std::size_t bins() const { return slots_.size() * static_cast<std::size_t>(pad_); }
  // BinLayout::sparse_bins; empty if no sparse feature is wanted.
  std::span<const uint32_t> sparse_bins() const { return sparse_bins_; }
  // Whether these are a matrix's first slots() slots.
  bool every_slot() const { return every_slot_; }
  // Those from `first` to before `end`.
  Kernels::SlotSet SlotSet(int first, int end) const {
    return {every_slot_ ? nullptr : slots_.data() + first, end - first, pad_};
  }

 private:
  std::vector<int32_t> slots_;
  int64_t pad_ = 0;
  bool every_slot_ = true;
  std::span<const uint32_t> sparse_bins_;
};

// A node's sums for a shape: a PackedSum per bin, or a GradientSum (two words) if the node has so many rows
// that packed ones could overflow, or gradients are wide.
struct Histogram {
  bool packed = true;
  std::vector<uint64_t> words;
  std::optional<SparseSums> sparse;  // if the shape has sparse features

  // Whether it is absent.
  bool empty() const { return words.empty() && !sparse; }
  const PackedSum* Packed() const { return words.data(); }
  const GradientSum* Wide() const { return reinterpret_cast<const GradientSum*>(words.data()); }
};

inline std::size_t WordsOf(const HistogramShape& shape, bool packed) {
  return shape.bins() * (packed ? 1 : 2);
}

// Some of a node's rows (ascending), and slots [first_slot, end_slot) of the shape.
struct CountedPart {
  const uint32_t* rows;
  int64_t count;
  int first_slot, end_slot;
};

// Adds the gradients of a part to *histogram, whose words exist. scratch: reused by the caller's next call.
// REQUIRES, for packed sums: narrow gradients, and at most kPackedRows rows in all.
void CountRows(const BinMatrix& matrix, const HistogramShape& shape, const FixedGradients& gradients,
               const CountedPart& part, Histogram* histogram, std::vector<uint64_t>* scratch);

// *to += from. REQUIRES: the same form.
void AddHistogram(const Histogram& from, Histogram* to);

// Computes parent - child in the form of *out, whose words exist, over bins [begin, end) of the shape, and
// all of sparse features. out may be parent if the form is the same.
void SubtractHistogram(const Histogram& parent, const Histogram& child, std::size_t begin, std::size_t end,
                       Histogram* out);

}  // namespace winnow::gbdt
