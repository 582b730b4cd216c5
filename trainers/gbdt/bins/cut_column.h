#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainers/data/sparse_column.h"
#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {

// The inputs of cuts, in ordered keys (ordered_key.h): parts of several ranks are merged by appending.

// Statistics of all rows of a column.
struct ColumnScan {
  bool has_missing = false;
  bool few = true;             // at most as many distinct values as requested
  std::vector<uint32_t> keys;  // if few: each once, ascending
};
ColumnScan ScanColumn(std::span<const float> column, int most);

// The same of a sparse column with that many rows.
ColumnScan ScanColumn(const SparseColumn& column, int64_t rows, int most);

// The values of rows, in any order. With weights, a word has the key above a weight of 32 bits.
struct ColumnSample {
  std::vector<uint32_t> keys;
  std::vector<uint64_t> weighted;
};

// `rows`: those to take; empty: all. `weights`: of each of them; empty: all 1.
ColumnSample SampleColumn(std::span<const float> column, std::span<const uint32_t> rows,
                          std::span<const uint32_t> weights);

// The same of a sparse column. positions[row]: the row's position among those to take, -1 if it is none;
// empty: all rows are taken. taken: how many.
ColumnSample SampleColumn(const SparseColumn& column, std::span<const int32_t> positions, int64_t taken,
                          std::span<const uint32_t> weights);

// The maximum number of value bins of a numeric feature.
int MostBins(int max_bin, bool has_missing);

// One bin per key. REQUIRES: ascending keys.
FeatureCuts CutsOfEach(std::span<const uint32_t> keys, bool has_missing);

// At most MostBins bins of about equal weight. Sorts the sample.
FeatureCuts CutsOfSample(ColumnSample* sample, int max_bin, bool has_missing);

// Returns weights as whole numbers below 2^31, scaled by the largest one.
std::vector<uint32_t> WholeWeights(std::span<const float> weight, std::span<const uint32_t> rows,
                                   float heaviest);

}  // namespace winnow::gbdt
