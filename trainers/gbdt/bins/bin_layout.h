#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/collective/communicator.h"
#include "trainers/common/thread_pool.h"
#include "trainers/gbdt/bins/quantile_cuts.h"

namespace winnow::gbdt {

// Bins of values, as they are stored: those of the cuts, and of a categorical feature one more for categories
// that the training data do not have.
inline int ValueBins(const FeatureCuts& cuts) { return cuts.bins() + (cuts.categorical ? 1 : 0); }

// Where one feature's bins lie. They are numbered 0 .. values-1 for values and `values` for missing.
struct FeaturePlace {
  int group = 0;
  int first = 0;   // group bin of its first bin
  int values = 1;  // ValueBins
  bool has_missing = false;
  int default_bin = -1;  // in a shared group: the bin that leaves no trace there; -1 in a group of its own

  int bins() const { return values + (has_missing ? 1 : 0); }
  // REQUIRES: bin != default_bin.
  int GroupBin(int bin) const { return default_bin < 0 ? bin : first + bin - (bin > default_bin ? 1 : 0); }
};

// Features that never leave their default bin in the same row, so that one number a row holds all of them
// (Ke et al., LightGBM, NIPS 2017, section 4, without conflicts, so nothing is lost): a one-hot group.
struct FeatureGroup {
  int slot = 0;
  int stride = 1;  // the group's bin of slot bin s is s / stride % bins
  int bins = 1;
  std::vector<int> features;  // ascending
};

// What one stored number a row stands for: the bins of several groups at once, as digits of a number, where
// their product is small. One addition to a histogram then counts all of them; sums over the other digits
// bring each group's histogram back.
struct BinSlot {
  int bins = 1;
  std::vector<int> groups;  // the first has stride 1
};

struct BinLayout {
  std::vector<FeaturePlace> features;
  std::vector<FeatureGroup> groups;
  std::vector<BinSlot> slots;

  int most_bins() const;
  // Whether every slot has at most 256 bins, so that a byte holds one.
  bool narrow() const { return most_bins() <= 256; }
  // For each bin of the feature's slot: 1 where the feature's own bin is one that goes left. left_bins:
  // [feature's bins], missing included.
  std::vector<uint8_t> LeftTable(int feature, const std::vector<uint8_t>& left_bins) const;
};

// bins[feature][row]: the bins of this rank's rows. Looks through all rows, so it is for training data: other
// data may mark two features of a group at once, and gets a LoneLayout. The same on all ranks; an error is
// one of `ranks`.
absl::StatusOr<BinLayout> SharedLayout(const std::vector<std::vector<uint16_t>>& bins,
                                       const std::vector<FeatureCuts>& cuts, Communicator* ranks,
                                       ThreadPool* pool);

// A slot for each feature, with room for missing values.
BinLayout LoneLayout(const std::vector<FeatureCuts>& cuts);

}  // namespace winnow::gbdt
