#pragma once

#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace winnow::gbdt {

// Draws of columns and rows: functions of the seed, the purpose, and the column's or row's own number.
enum class ColumnDraw : uint64_t { kTree = 1, kLevel = 2, kNode = 3 };

// Returns max(1, floor(fraction * n)) of the columns, ascending; all of them if fraction is 1. `index`
// separates the draws of one tree's levels or nodes. REQUIRES: columns ascending.
std::vector<int> SampleColumns(const std::vector<int>& columns, double fraction, uint64_t seed,
                               ColumnDraw draw, uint64_t tree, uint64_t index);

// Draws rows for a tree, each with probability `fraction`.
class RowDraw {
 public:
  RowDraw(double fraction, uint64_t seed, uint64_t draw);

  // row: its number in the data of all ranks.
  bool Takes(uint64_t row) const { return (MixBits(mixed_key_ ^ row) >> 11) < threshold_; }

  // For Kernels::draw_rows.
  uint64_t mixed_key() const { return mixed_key_; }
  uint64_t threshold() const { return threshold_; }

 private:
  uint64_t mixed_key_, threshold_;  // out of 2^53
};

}  // namespace winnow::gbdt
