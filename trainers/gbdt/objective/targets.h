#pragma once

#include <cstdint>
#include <span>

namespace winnow::gbdt {

// This rank's rows as objectives and metrics see them; the arrays are owned elsewhere.
struct Targets {
  int64_t rows = 0;
  std::span<const float> label;          // [row]
  std::span<const float> weight;         // [row]; for ranking data [group]; empty: all 1
  // ranking: group i has the rows [element i, element i + 1); otherwise empty
  std::span<const int64_t> group_begin;
  int64_t first_row = 0;                 // number of row 0 in the data of all ranks
};

}  // namespace winnow::gbdt
