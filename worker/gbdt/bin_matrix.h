#pragma once

#include <cstdint>
#include <vector>

#include "worker/data/data_set.h"
#include "worker/gbdt/quantile_cuts.h"
#include "worker/gbdt/thread_pool.h"

namespace winnow {

// Where a feature's bins lie within a row. Its bins are numbered 0 .. values-1 for values and `values` for
// missing.
struct FeatureSlot {
  int slot = 0;
  int first = 0;   // slot bin of its first bin
  int values = 1;  // number of value bins
  bool has_missing = false;
  int default_bin = -1;  // in a shared slot: the bin that leaves no trace there; -1 in a slot of its own

  int bins() const { return values + (has_missing ? 1 : 0); }
  // REQUIRES: bin != default_bin.
  int SlotBin(int bin) const { return default_bin < 0 ? bin : first + bin - (bin > default_bin ? 1 : 0); }
};

// A data set in bins, row after row, one byte (or two) for each slot. Features that never leave their default
// bin in the same row share a slot (Ke et al., LightGBM, NIPS 2017, section 4, without conflicts, so nothing
// is lost): a one-hot group costs one byte a row.
class BinMatrix {
 public:
  // Bundling is for training data, whose rows have been looked through; other data gets a slot for each
  // feature. REQUIRES: cuts of data's features; data without infinities.
  BinMatrix(const DataSet& data, const std::vector<FeatureCuts>& cuts, bool bundle, ThreadPool* pool);

  int64_t rows() const { return rows_; }
  int slots() const { return static_cast<int>(slot_bins_.size()); }
  int slot_bins(int slot) const { return slot_bins_[slot]; }
  const std::vector<FeatureSlot>& features() const { return features_; }

  // Slots in bytes, if every slot has at most 256 bins, else in two bytes; row r starts at r * slots().
  bool narrow() const { return narrow_; }
  const uint8_t* bytes() const { return bytes_.data(); }
  const uint16_t* words() const { return words_.data(); }

  // For each bin of the feature's slot: 1 if a row with it goes left when value bins <= last_left do, and
  // missing values if missing_left.
  std::vector<uint8_t> LeftTable(int feature, int last_left, bool missing_left) const;

  // Changes with any bin of any row.
  uint64_t Fingerprint() const;

 private:
  void PlaceFeatures(const std::vector<std::vector<uint16_t>>& bins, const std::vector<FeatureCuts>& cuts,
                     bool bundle);

  int64_t rows_ = 0;
  bool narrow_ = true;
  std::vector<FeatureSlot> features_;
  std::vector<int> slot_bins_;
  std::vector<uint8_t> bytes_;
  std::vector<uint16_t> words_;
};

}  // namespace winnow
