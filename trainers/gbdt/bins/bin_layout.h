#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/data/data_set.h"
#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {

// Number of stored bins of values: those of the cuts, and for a categorical feature one more for categories
// unknown to the training data.
inline int ValueBins(const FeatureCuts& cuts) { return cuts.bins() + (cuts.categorical ? 1 : 0); }

// The position of one feature's bins, numbered 0 .. values-1 for values and `values` for missing.
struct FeaturePlace {
  int group = 0;
  int first = 0;   // group bin of its first bin
  int values = 1;  // ValueBins
  bool has_missing = false;
  // In a shared group, and of a sparse feature: the bin of rows that are not marked; -1 if alone in its
  // group.
  int default_bin = -1;
  int sparse = -1;  // position in BinLayout::sparse_features, without a group; -1: in a group

  int bins() const { return values + (has_missing ? 1 : 0); }
  // REQUIRES: bin != default_bin.
  int GroupBin(int bin) const { return default_bin < 0 ? bin : first + bin - (bin > default_bin ? 1 : 0); }
};

// A one-hot group: features of which at most one leaves its default bin in any row, so that one number per
// row represents all of them (Ke et al., LightGBM, NIPS 2017, section 4, without conflicts and therefore
// without loss).
struct FeatureGroup {
  int slot = 0;
  int stride = 1;  // the group's bin of slot bin s is s / stride % bins
  int bins = 1;
  std::vector<int> features;  // ascending
};

// One stored number per row: the bins of several groups as digits of a number, if their product is small. One
// addition to a histogram then counts all of them; sums over the other digits give each group's histogram.
struct BinSlot {
  int bins = 1;
  std::vector<int> groups;  // the first has stride 1
};

struct BinLayout {
  std::vector<FeaturePlace> features;
  std::vector<FeatureGroup> groups;
  std::vector<BinSlot> slots;
  std::vector<int> sparse_features;   // ascending
  std::vector<uint32_t> sparse_bins;  // number of the first bin of each, and behind them the number of all

  bool has_sparse() const { return !sparse_features.empty(); }
  int most_bins() const;
  // Whether every slot has at most 256 bins, so that it fits a byte.
  bool narrow() const { return most_bins() <= 256; }
  // Returns for each bin of the feature's slot 1 if the feature's own bin goes left. left_bins: [feature's
  // bins, including missing]. REQUIRES: the feature is not sparse.
  std::vector<uint8_t> LeftTable(int feature, const std::vector<uint8_t>& left_bins) const;
};

// Makes a feature sparse, with room for missing values. REQUIRES: in order of features.
void PlaceSparse(int feature, const FeatureCuts& cuts, float rest, BinLayout* layout);

// bins[feature][row]: the bins of this rank's rows, empty for the sparse features of `data`. Uses all rows,
// so it is for training data only: other data may mark two features of a group at once, and gets a
// LoneLayout. The same on all ranks; an error is one of `ranks`.
absl::StatusOr<BinLayout> SharedLayout(const std::vector<std::vector<uint16_t>>& bins,
                                       const std::vector<FeatureCuts>& cuts, const DataSet& data,
                                       Communicator* ranks, ThreadPool* pool);

// A slot for each feature that is not sparse in `data`, with room for missing values.
BinLayout LoneLayout(const std::vector<FeatureCuts>& cuts, const DataSet& data);

}  // namespace winnow::gbdt
