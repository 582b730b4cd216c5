#pragma once

#include <cstddef>
#include <cstdint>

namespace winnow::gbdt {

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

// A GradientSum in one word: the gradient's 32 bits above the hessian's. Words add and subtract as integers
// as long as both sums fit: |gradient| < 2^31, 0 <= hessian < 2^32.
using PackedSum = uint64_t;

inline GradientSum Unpack(PackedSum word) {
  return {static_cast<int32_t>(word >> 32), static_cast<int64_t>(word & 0xffffffffu)};
}
inline PackedSum Pack(const GradientSum& sum) {
  return (static_cast<uint64_t>(sum.gradient) << 32) + static_cast<uint64_t>(sum.hessian);
}

// A row's gradient and hessian in 16 bits each, the gradient above. 0 <= hessian.
using NarrowPair = uint32_t;
constexpr int32_t kMostNarrow = 32767;  // of either
// Sums of this many rows fit a PackedSum.
constexpr int64_t kPackedRows = 1 << 16;

// A row's gradient and hessian in 32 bits each.
struct WidePair {
  int32_t gradient, hessian;
};
constexpr int32_t kMostWide = 1 << 30;  // of either

// The inner loops over rows and bins. Built for several instruction sets, selected at run time; all give the
// same bits, because sums are of integers and no operation on floats is contracted or reordered.
struct Kernels {
  const char* name;

  // Adds rows' gradients to histograms. Row r's bin of slot s is bins[r * stride + s]; the k-th counted slot
  // is slots[k] (k itself if slots is null), and its bin b is at histogram[k * pad + b]. rows: `count` row
  // numbers, or null for rows first .. first + count - 1. REQUIRES, for PackedSum: the sums fit.
  struct RowSet {
    const uint32_t* rows;
    int64_t first, count;
  };
  struct SlotSet {
    const int32_t* slots;
    int count;
    int64_t pad;
  };
  void (*add_narrow8)(const uint8_t* bins, int64_t stride, SlotSet slots, const NarrowPair* gradients,
                      RowSet rows, PackedSum* histogram);
  void (*add_narrow16)(const uint16_t* bins, int64_t stride, SlotSet slots, const NarrowPair* gradients,
                       RowSet rows, PackedSum* histogram);
  void (*add_wide8)(const uint8_t* bins, int64_t stride, SlotSet slots, const WidePair* gradients,
                    RowSet rows, GradientSum* histogram);
  void (*add_wide16)(const uint16_t* bins, int64_t stride, SlotSet slots, const WidePair* gradients,
                     RowSet rows, GradientSum* histogram);

  // Partitions `count` rows: those with goes_left[column[row]] first, both parts in their order. `spare` has
  // room for count. Returns the number of rows that go left. goes_left is 0 or 1.
  int64_t (*divide8)(const uint8_t* column, const uint8_t* goes_left, uint32_t* rows, uint32_t* spare,
                     int64_t count);
  int64_t (*divide16)(const uint16_t* column, const uint8_t* goes_left, uint32_t* rows, uint32_t* spare,
                      int64_t count);

  // Divides rows 0 .. count - 1 (numbered first_row + i over all ranks) into those that RowDraw takes and the
  // others, both ascending; each list has room for count. Returns the number taken.
  int64_t (*draw_rows)(uint64_t mixed_key, uint64_t threshold, uint64_t first_row, int64_t count,
                       uint32_t* drawn, uint32_t* others);

  // gain[i] = twice the loss reduction of cut i, as GainRule has it: S(Gl)^2 / (Hl + lambda) + S(Gr)^2 / (Hr
  // + lambda) - node_gain, as float, where S moves a gradient towards 0 by alpha; -1 if a side's hessian is
  // below `least_hessian` or not above 0. left_* in fixed point, to be multiplied by the scales. Returns the
  // largest.
  struct GainInputs {
    double gradient_scale, hessian_scale;  // powers of two
    double total_gradient, total_hessian;  // of the node, in fixed point
    double lambda, alpha, least_hessian, node_gain;
    // Whether the sides have the gains of their weights, -S(G) / (H + lambda) within these limits: of the
    // magnitude, and bounds. If the direction is 1 (-1), the left weight may not be above (below) the right.
    bool at_weights;
    double most_weight, lower_bound, upper_bound, direction;
  };
  float (*gains)(const double* left_gradient, const double* left_hessian, std::size_t count,
                 const GainInputs& inputs, float* gain);

  // Computes the sums of bins 0 .. i, for every i < count, as numbers. REQUIRES: they fit a PackedSum.
  void (*prefix_packed)(const PackedSum* bins, std::size_t count, double* gradient, double* hessian);

  // Returns the bits of the largest magnitude.
  uint32_t (*largest_bits)(const float* values, int64_t count);

  // Rounds gradients to 16 bits: x * scale up or down with the probability that keeps the mean, drawn by a
  // hash of `key` and the row's number (first_row + i). Sums the magnitudes in *magnitudes. REQUIRES: |x| *
  // scale < 2^15; hessian >= 0.
  void (*quantise_narrow)(const float* gradient, const float* hessian, int64_t count, float gradient_scale,
                          float hessian_scale, uint64_t key, uint64_t first_row, NarrowPair* out,
                          GradientSum* magnitudes);
};

// Returns the fastest kernels for this processor; the portable ones if WINNOW_SIMD is "off" in the
// environment, or those of "avx2" or "avx512" if the processor has them.
const Kernels& ChosenKernels();

// Returns all kernels that this processor can run, the portable ones first.
const Kernels* const* RunnableKernels(int* count);

}  // namespace winnow::gbdt
