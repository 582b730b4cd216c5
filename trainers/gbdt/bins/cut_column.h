#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {

// What cuts are made of, in ordered keys (ordered_key.h): the parts of several ranks are put together by
// appending.

// What all rows of a column say.
struct ColumnScan {
  bool has_missing = false;
  bool few = true;             // not more values than asked for
  std::vector<uint32_t> keys;  // of few: each once, ascending
};
ColumnScan ScanColumn(std::span<const float> column, int most);

// The values of rows, in any order. Weighted ones are words of a key and, below it, a weight of 32 bits.
struct ColumnSample {
  std::vector<uint32_t> keys;
  std::vector<uint64_t> weighted;
};

// `rows`: those to take; empty: all. `weights`: of each of them; empty: all 1.
ColumnSample SampleColumn(std::span<const float> column, std::span<const int32_t> rows,
                          std::span<const uint32_t> weights);

// How many value bins a numeric feature may have.
int MostBins(int max_bin, bool has_missing);

// A bin for each of the keys, ascending.
FeatureCuts CutsOfEach(std::span<const uint32_t> keys, bool has_missing);

// At most MostBins of about equal weight. Sorts the sample.
FeatureCuts CutsOfSample(ColumnSample* sample, int max_bin, bool has_missing);

// Weights in whole numbers below 2^31, by the largest one.
std::vector<uint32_t> WholeWeights(std::span<const float> weight, std::span<const int32_t> rows,
                                   float heaviest);

}  // namespace winnow::gbdt
