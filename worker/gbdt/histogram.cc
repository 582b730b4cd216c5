#include "worker/gbdt/histogram.h"

#include <algorithm>
#include <cmath>

#include "worker/gbdt/fixed_point.h"

namespace winnow {
namespace {

// Two 64-bit lanes: one addition serves gradient and hessian.
typedef int64_t SumLanes __attribute__((vector_size(16)));

template <typename Bin>
void AddRows(const Bin* bins, int64_t stride, const std::vector<HistogramLayout::Entry>& entries,
             const FixedGradients& gradients, const uint32_t* rows, int64_t count, GradientSum* histogram) {
  constexpr int64_t kAhead = 16;  // rows; their addresses are known early but jump
  SumLanes* sums = reinterpret_cast<SumLanes*>(histogram);
  const HistogramLayout::Entry* first = entries.data();
  const HistogramLayout::Entry* last = first + entries.size();
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      __builtin_prefetch(bins + rows[i + kAhead] * stride);
      __builtin_prefetch(&gradients.rows[rows[i + kAhead]]);
    }
    const int64_t row = rows[i];
    const Bin* at = bins + row * stride;
    const SumLanes add = {gradients.rows[row].gradient, gradients.rows[row].hessian};
    for (const HistogramLayout::Entry* entry = first; entry != last; ++entry)
      sums[entry->offset + at[entry->slot]] += add;
  }
}

float LargestMagnitude(const float* values, int64_t count) {
  float largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::fabs(values[i]));
  return largest;
}

}  // namespace

void QuantiseGradients(const float* gradient, const float* hessian, int64_t count, FixedGradients* out) {
  constexpr int kBits = 30;
  out->gradient_exponent = std::min(ScaleExponent(LargestMagnitude(gradient, count), kBits), 127);
  out->hessian_exponent = std::min(ScaleExponent(LargestMagnitude(hessian, count), kBits), 127);
  const float g_scale = std::ldexp(1.0f, out->gradient_exponent);
  const float h_scale = std::ldexp(1.0f, out->hessian_exponent);
  out->rows.resize(count);
  for (int64_t i = 0; i < count; ++i)
    out->rows[i] = {static_cast<int32_t>(gradient[i] * g_scale), static_cast<int32_t>(hessian[i] * h_scale)};
}

HistogramLayout::HistogramLayout(const BinMatrix& matrix, const std::vector<int>& features)
    : offsets_(matrix.slots(), -1) {
  for (int feature : features) offsets_[matrix.features()[feature].slot] = 0;
  for (int slot = 0; slot < matrix.slots(); ++slot) {
    if (offsets_[slot] < 0) continue;
    offsets_[slot] = static_cast<int>(size_);
    entries_.push_back({slot, offsets_[slot]});
    size_ += matrix.slot_bins(slot);
  }
}

void AddToHistogram(const BinMatrix& matrix, const HistogramLayout& layout, const FixedGradients& gradients,
                    const uint32_t* rows, int64_t count, GradientSum* histogram) {
  if (matrix.narrow())
    AddRows(matrix.bytes(), matrix.slots(), layout.entries(), gradients, rows, count, histogram);
  else
    AddRows(matrix.words(), matrix.slots(), layout.entries(), gradients, rows, count, histogram);
}

void SubtractHistogram(const GradientSum* b, std::size_t size, GradientSum* a) {
  for (std::size_t i = 0; i < size; ++i) a[i] = a[i] - b[i];
}

void AddHistogram(const GradientSum* b, std::size_t size, GradientSum* a) {
  for (std::size_t i = 0; i < size; ++i) a[i] += b[i];
}

const GradientSum* FeatureHistogram(const FeatureSlot& feature, const HistogramLayout& layout,
                                    const GradientSum* histogram, const GradientSum& total,
                                    std::vector<GradientSum>* scratch) {
  const GradientSum* slot = histogram + layout.OffsetOf(feature.slot);
  if (feature.default_bin < 0) return slot;
  scratch->resize(feature.bins());
  GradientSum others;
  for (int bin = 0; bin < feature.bins(); ++bin) {
    if (bin == feature.default_bin) continue;
    (*scratch)[bin] = slot[feature.SlotBin(bin)];
    others += (*scratch)[bin];
  }
  (*scratch)[feature.default_bin] = total - others;
  return scratch->data();
}

}  // namespace winnow
