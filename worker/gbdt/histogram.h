#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "worker/gbdt/bin_matrix.h"

namespace winnow {

// A sum of gradients and hessians in fixed point.
struct alignas(16) GradientSum {
  int64_t gradient = 0, hessian = 0;

  GradientSum& operator+=(const GradientSum& o) {
    gradient += o.gradient;
    hessian += o.hessian;
    return *this;
  }
  GradientSum operator-(const GradientSum& o) const { return {gradient - o.gradient, hessian - o.hessian}; }
  bool operator==(const GradientSum&) const = default;
};

// One tree's gradients: row r's are value / 2^exponent. |value| < 2^30, so sums over 2^33 rows fit.
struct FixedGradients {
  struct Pair {
    int32_t gradient, hessian;
  };
  std::vector<Pair> rows;
  int gradient_exponent = 0, hessian_exponent = 0;
};

// Quantises one class's gradients (`count` of each) with scales from their largest magnitudes.
void QuantiseGradients(const float* gradient, const float* hessian, int64_t count, FixedGradients* out);

// Which slots of a matrix histograms hold, and where.
class HistogramLayout {
 public:
  // Slots of the features in `features` only.
  HistogramLayout(const BinMatrix& matrix, const std::vector<int>& features);

  std::size_t size() const { return size_; }
  struct Entry {
    int slot;
    int offset;
  };
  const std::vector<Entry>& entries() const { return entries_; }
  // REQUIRES: a feature given to the constructor.
  int OffsetOf(int slot) const { return offsets_[slot]; }

 private:
  std::size_t size_ = 0;
  std::vector<Entry> entries_;
  std::vector<int> offsets_;  // by slot; -1 if absent
};

// Adds the gradients of `rows` (indices into the matrix) to `histogram`, which holds layout.size() sums.
void AddToHistogram(const BinMatrix& matrix, const HistogramLayout& layout, const FixedGradients& gradients,
                    const uint32_t* rows, int64_t count, GradientSum* histogram);

// a -= b, over `size` sums.
void SubtractHistogram(const GradientSum* b, std::size_t size, GradientSum* a);
void AddHistogram(const GradientSum* b, std::size_t size, GradientSum* a);

// The sums of a feature's bins (FeatureSlot's numbering), given its node's total. Uses `scratch` for features
// in shared slots; the result is valid until either changes.
const GradientSum* FeatureHistogram(const FeatureSlot& feature, const HistogramLayout& layout,
                                    const GradientSum* histogram, const GradientSum& total,
                                    std::vector<GradientSum>* scratch);

}  // namespace winnow
