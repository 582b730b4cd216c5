#pragma once

#include <cstdint>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// How many trials go from a bin of one axis to a bin of another; cells that are not empty, bin by bin.
struct BinCount {
  int32_t from = 0;
  int32_t to = 0;
  int32_t count = 0;
  double best = 0;  // score among them; NaN: none has one
};

// The bin of each position (0 to 1) among `bins`; below 0 for a row that has none (NaN).
std::vector<int32_t> BinsOf(const std::vector<double>& positions, int bins);

// Of the marked rows, by their bins (BinsOf) on two axes; a row without one of the two is left out.
std::vector<BinCount> CountBins(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                const std::vector<int32_t>& left, const std::vector<int32_t>& right,
                                int bins);

// The position of each score on `axis`; NaN: it is none.
std::vector<double> ScorePositions(const std::vector<double>& scores, const AxisScale& axis);

// The first `most` marked rows of the ranking that have a score.
std::vector<uint32_t> BestRows(const TrialColumns& columns, const std::vector<uint8_t>& marked, size_t most);

}  // namespace winnow
