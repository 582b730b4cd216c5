#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/gbdt/bins/quantile_cuts.h"
#include "trainers/gbdt/tree/histogram.h"
#include "trainers/gbdt/tree/split_finder.h"

namespace winnow::gbdt {

// A training table in bins, on one rank.
struct BinnedTable {
  std::vector<FeatureCuts> cuts;
  BinMatrix matrix;
};

inline BinnedTable InBins(const DataSet& data, int max_bin, ThreadPool* pool) {
  const absl::StatusOr<std::vector<FeatureCuts>> cuts = MakeCuts(data, max_bin, pool);
  const std::unique_ptr<Communicator> sole = MakeSoleRank();
  return {*cuts, *BinMatrix::OfTraining(data, BinsOf(data, *cuts, pool), *cuts, sole.get(), pool)};
}
inline BinnedTable InBins(const DataSet& data, int max_bin) {
  ThreadPool pool(1);
  return InBins(data, max_bin, &pool);
}

using BinSums = std::vector<std::vector<GradientSum>>;  // [feature][bin, the missing one last]

inline std::vector<int> FirstNumbers(int count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Returns every feature's sums, from those of the shared slots.
template <typename Sum, typename AsSum>
BinSums SumsOfFeatures(const BinLayout& layout, const HistogramShape& shape, const Sum* words,
                       const GradientSum& total, AsSum as_sum) {
  BinSums all(layout.features.size());
  std::vector<Sum> scratch;
  for (int k = 0; k < shape.slots(); ++k) {
    ForEachGroup(layout, layout.slots[shape.slot(k)], words + k * shape.pad(), &scratch,
                 [&](int g, const Sum* sums) {
                   for (int f : layout.groups[g].features) {
                     const FeaturePlace& at = layout.features[f];
                     all[f].resize(at.bins());
                     GradientSum rest = total;
                     for (int bin = 0; bin < at.bins(); ++bin) {
                       if (bin == at.default_bin) continue;
                       all[f][bin] = as_sum(sums[at.GroupBin(bin)]);
                       rest = rest - all[f][bin];
                     }
                     if (at.default_bin >= 0) all[f][at.default_bin] = rest;
                   }
                 });
  }
  return all;
}

inline BinSums SumsOfFeatures(const BinLayout& layout, const HistogramShape& shape,
                              const Histogram& histogram, const GradientSum& total) {
  if (histogram.packed) return SumsOfFeatures(layout, shape, histogram.Packed(), total, Unpack);
  return SumsOfFeatures(layout, shape, histogram.Wide(), total, [](const GradientSum& sum) { return sum; });
}

// Returns every feature's sums, counted row by row from the values.
inline BinSums CountedSums(const DataSet& data, const std::vector<FeatureCuts>& cuts,
                           const FixedGradients& gradients, const std::vector<uint32_t>& rows) {
  BinSums all(data.columns.size());
  for (std::size_t f = 0; f < all.size(); ++f) {
    all[f].resize(cuts[f].bins() + (cuts[f].has_missing ? 1 : 0));
    for (uint32_t row : rows) {
      const float value = data.columns[f][row];
      all[f][std::isnan(value) ? cuts[f].bins() : cuts[f].BinOf(value)] += gradients.Of(row);
    }
  }
  return all;
}

inline Histogram CountedHistogram(const BinMatrix& matrix, const HistogramShape& shape,
                                  const FixedGradients& gradients, const std::vector<uint32_t>& rows,
                                  bool packed) {
  Histogram histogram;
  histogram.packed = packed;
  histogram.words.resize(WordsOf(shape, packed));
  std::vector<uint64_t> scratch;
  // In two parts, as two threads would.
  const int middle = shape.slots() / 2;
  const auto count = static_cast<int64_t>(rows.size());
  CountRows(matrix, shape, gradients, {rows.data(), count, 0, middle}, &histogram, &scratch);
  CountRows(matrix, shape, gradients, {rows.data(), count, middle, shape.slots()}, &histogram, &scratch);
  return histogram;
}

// Whole numbers, different in each row.
inline FixedGradients NumberedGradients(int64_t rows, bool narrow) {
  FixedGradients gradients;
  gradients.is_narrow = narrow;
  for (int64_t i = 0; i < rows; ++i) {
    const auto g = static_cast<int32_t>(i * 7 % 20011 - 10000), h = static_cast<int32_t>(i % 30000 + 1);
    if (narrow)
      gradients.narrow.push_back((static_cast<uint32_t>(g) << 16) | static_cast<uint32_t>(h));
    else
      gradients.wide.push_back({g * 5000, h * 5000});
  }
  return gradients;
}

inline GradientSum TotalOf(const FixedGradients& gradients, const std::vector<uint32_t>& rows) {
  GradientSum total;
  for (uint32_t row : rows) total += gradients.Of(row);
  return total;
}

}  // namespace winnow::gbdt
