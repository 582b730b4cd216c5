#pragma once

#include <cstdint>
#include <vector>

#include "insight/trial_columns.h"

namespace winnow {

// The number of trials between a bin of one axis and a bin of another; non-empty cells only, bin by bin.
struct BinCount {
  int32_t from = 0;
  int32_t to = 0;
  int32_t count = 0;
  double best = 0;  // best score among them; NaN: none has one
};

// Returns the bin of each position (0 to 1); below 0 for a row without one (NaN).
std::vector<int32_t> BinsOf(const std::vector<double>& positions, int bins);

// Counts the marked rows by their bins (BinsOf) on two axes; skips a row without one of them.
std::vector<BinCount> CountBins(const TrialColumns& columns, const std::vector<uint8_t>& marked,
                                const std::vector<int32_t>& left, const std::vector<int32_t>& right,
                                int bins);

// Returns the position of each score on `axis`; NaN: no score.
std::vector<double> ScorePositions(const std::vector<double>& scores, const AxisScale& axis);

// Returns the first `most` marked rows of the ranking that have a score.
std::vector<uint32_t> BestRows(const TrialColumns& columns, const std::vector<uint8_t>& marked, size_t most);

}  // namespace winnow
