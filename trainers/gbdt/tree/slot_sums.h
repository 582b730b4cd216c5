#pragma once

#include <algorithm>
#include <vector>

#include "trainers/gbdt/bins/bin_layout.h"
#include "trainers/gbdt/tree/kernels.h"

namespace winnow::gbdt {

// Computes the histograms of the groups that share a slot from the slot's, by sums over the digits of the
// others. The last group is separated first, so that the rest shrinks. sums: the slot's bins. Calls
// use(group, bins) for each group; the pointer is valid during the call. Sum: PackedSum or GradientSum.
template <typename Sum, typename Use>
void ForEachGroup(const BinLayout& layout, const BinSlot& slot, const Sum* sums, std::vector<Sum>* scratch,
                  const Use& use) {
  scratch->resize(static_cast<std::size_t>(2 * slot.bins));
  Sum* const group_sums = scratch->data() + slot.bins;
  const Sum* rest = sums;
  for (std::size_t k = slot.groups.size(); k-- > 1;) {
    const FeatureGroup& group = layout.groups[slot.groups[k]];
    const int stride = group.stride;
    for (int bin = 0; bin < group.bins; ++bin) {
      Sum sum{};
      for (int i = 0; i < stride; ++i) sum += rest[bin * stride + i];
      group_sums[bin] = sum;
    }
    use(slot.groups[k], static_cast<const Sum*>(group_sums));
    Sum* folded = scratch->data();
    if (rest != folded) std::copy(rest, rest + stride, folded);
    for (int bin = 1; bin < group.bins; ++bin) {
      for (int i = 0; i < stride; ++i) folded[i] += rest[bin * stride + i];
    }
    rest = folded;
  }
  use(slot.groups[0], rest);
}

}  // namespace winnow::gbdt
