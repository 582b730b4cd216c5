#pragma once

#include <cstdint>
#include <span>

namespace winnow::gbdt {

// What objectives and metrics see of this rank's rows; the arrays are owned elsewhere.
struct Targets {
  int64_t rows = 0;
  std::span<const float> label;          // [row]
  std::span<const float> weight;         // [row]; of ranking data [group]; empty: all 1
  std::span<const int64_t> group_begin;  // ranking: rows of group i are [i, i + 1) of it; else empty
  int64_t first_row = 0;                 // number of row 0 in the data of all ranks
};

}  // namespace winnow::gbdt
