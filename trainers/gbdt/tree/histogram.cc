#include "trainers/gbdt/tree/histogram.h"

#include <algorithm>

namespace winnow::gbdt {
namespace {

constexpr int64_t kBytePad = 256;  // fastest for the kernels
constexpr int64_t kLine = 8;       // words of a cache line

GradientSum SumAt(const Histogram& histogram, std::size_t bin) {
  return histogram.packed ? Unpack(histogram.words[bin]) : histogram.Wide()[bin];
}

}  // namespace

HistogramShape::HistogramShape(const BinLayout& layout, const std::vector<int>& features) {
  std::vector<bool> used(layout.slots.size());
  for (int feature : features) {
    if (layout.features[feature].sparse >= 0)
      sparse_bins_ = layout.sparse_bins;
    else
      used[layout.groups[layout.features[feature].group].slot] = true;
  }
  for (std::size_t s = 0; s < used.size(); ++s) {
    if (used[s]) slots_.push_back(static_cast<int32_t>(s));
  }
  every_slot_ = slots_.size() == used.size();
  pad_ = layout.narrow() ? kBytePad : (layout.most_bins() + kLine - 1) / kLine * kLine;
}

void CountRows(const BinMatrix& matrix, const HistogramShape& shape, const FixedGradients& gradients,
               const CountedPart& part, Histogram* histogram, std::vector<uint64_t>* scratch) {
  const Kernels& kernels = ChosenKernels();
  const int64_t stride = matrix.slots();
  const Kernels::SlotSet slots = shape.SlotSet(part.first_slot, part.end_slot);
  const int skipped = shape.every_slot() ? part.first_slot : 0;  // of each row
  const int64_t first_bin = part.first_slot * shape.pad(), bins = slots.count * shape.pad();
  const uint32_t* const rows = part.rows;
  const auto add_narrow = [&](Kernels::RowSet set, PackedSum* to) {
    const NarrowPair* const pairs = gradients.narrow.data();
    if (matrix.narrow())
      kernels.add_narrow8(matrix.Rows<uint8_t>() + skipped, stride, slots, pairs, set, to);
    else
      kernels.add_narrow16(matrix.Rows<uint16_t>() + skipped, stride, slots, pairs, set, to);
  };
  // Rows ascend: without gaps they need no list.
  const auto set_of = [&](int64_t begin, int64_t end) -> Kernels::RowSet {
    const bool listed = end == begin || rows[end - 1] - rows[begin] != end - begin - 1;
    return listed ? Kernels::RowSet{rows + begin, 0, end - begin}
                  : Kernels::RowSet{nullptr, rows[begin], end - begin};
  };
  if (histogram->packed) return add_narrow(set_of(0, part.count), histogram->words.data() + first_bin);
  GradientSum* const sums = reinterpret_cast<GradientSum*>(histogram->words.data()) + first_bin;
  if (!gradients.is_narrow) {
    const WidePair* const pairs = gradients.wide.data();
    if (matrix.narrow())
      kernels.add_wide8(matrix.Rows<uint8_t>() + skipped, stride, slots, pairs, set_of(0, part.count), sums);
    else
      kernels.add_wide16(matrix.Rows<uint16_t>() + skipped, stride, slots, pairs, set_of(0, part.count),
                         sums);
    return;
  }
  for (int64_t begin = 0; begin < part.count; begin += kPackedRows) {
    scratch->assign(bins, 0);
    add_narrow(set_of(begin, std::min(part.count, begin + kPackedRows)), scratch->data());
    for (int64_t bin = 0; bin < bins; ++bin) sums[bin] += Unpack((*scratch)[bin]);
  }
}

void AddHistogram(const Histogram& from, Histogram* to) {
  for (std::size_t i = 0; i < from.words.size(); ++i) to->words[i] += from.words[i];
  if (from.sparse) AddSparse(*from.sparse, from.packed, &*to->sparse);
}

void SubtractHistogram(const Histogram& parent, const Histogram& child, std::size_t begin, std::size_t end,
                       Histogram* out) {
  if (parent.sparse)
    out->sparse = SubtractSparse(*parent.sparse, parent.packed, *child.sparse, child.packed, out->packed);
  if (parent.packed) {  // then its children are packed too
    for (std::size_t bin = begin; bin < end; ++bin) out->words[bin] = parent.words[bin] - child.words[bin];
    return;
  }
  GradientSum* wide = reinterpret_cast<GradientSum*>(out->words.data());
  for (std::size_t bin = begin; bin < end; ++bin) {
    const GradientSum difference = parent.Wide()[bin] - SumAt(child, bin);
    if (out->packed)
      out->words[bin] = Pack(difference);
    else
      wide[bin] = difference;
  }
}

}  // namespace winnow::gbdt
