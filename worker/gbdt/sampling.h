#pragma once

#include <cstdint>
#include <vector>

namespace winnow {

// Draws for columns and rows: functions of the seed, what they are for, and the column's or row's own number.
enum class ColumnDraw : uint64_t { kTree = 1, kLevel = 2, kNode = 3 };

// max(1, floor(fraction * n)) of the columns, in ascending order; all of them if fraction is 1. `index` tells
// the draws of one tree's levels or nodes apart. REQUIRES: columns ascending.
std::vector<int> SampleColumns(const std::vector<int>& columns, double fraction, uint64_t seed,
                               ColumnDraw draw, uint64_t tree, uint64_t index);

// Whether a row is drawn for a round, with probability `fraction`. row: its number in the whole data set.
bool RowIsDrawn(double fraction, uint64_t seed, uint64_t round, uint64_t row);

}  // namespace winnow
