#include "worker/gbdt/bin_matrix.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "worker/gbdt/hash.h"

namespace winnow {
namespace {

constexpr int kMostBundles = 64;  // tried for a feature, newest first
constexpr int kMostBundleBins = 256;

// Rows of a slot that some feature has marked, a bit each.
struct Bundle {
  int slot = 0;
  std::vector<uint64_t> marked;
};

std::vector<uint64_t> MarkedRows(const std::vector<uint16_t>& bins, int default_bin) {
  std::vector<uint64_t> marked((bins.size() + 63) / 64);
  for (std::size_t i = 0; i < bins.size(); ++i)
    marked[i / 64] |= static_cast<uint64_t>(bins[i] != default_bin) << (i % 64);
  return marked;
}

bool Disjoint(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] & b[i]) return false;
  }
  return true;
}

// The bin of 0, which is what one-hot groups share; else the most frequent one. -1 if it is too rare to share
// a slot.
int DefaultBin(const FeatureCuts& cuts, const std::vector<uint16_t>& bins) {
  std::vector<int64_t> counts(cuts.bins() + 1);
  for (uint16_t bin : bins) ++counts[bin];
  const int zero = cuts.BinOf(0.0f);
  if (counts[zero] * 4 >= static_cast<int64_t>(bins.size())) return zero;
  const auto most = std::max_element(counts.begin(), counts.end());
  return *most * 10 >= static_cast<int64_t>(bins.size()) ? static_cast<int>(most - counts.begin()) : -1;
}

template <typename Bin>
void Fill(const std::vector<std::vector<uint16_t>>& bins, const std::vector<FeatureSlot>& features, int slots,
          int64_t rows, ThreadPool* pool, std::vector<Bin>* out) {
  constexpr int64_t kBlock = 4096;
  out->assign(static_cast<std::size_t>(rows) * slots, 0);
  pool->Run(static_cast<int>((rows + kBlock - 1) / kBlock), [&](int block, int) {
    const int64_t begin = block * kBlock, end = std::min(rows, begin + kBlock);
    for (std::size_t f = 0; f < features.size(); ++f) {
      const FeatureSlot& feature = features[f];
      Bin* to = out->data() + begin * slots + feature.slot;
      for (int64_t i = begin; i < end; ++i, to += slots) {
        if (bins[f][i] != feature.default_bin) *to = static_cast<Bin>(feature.SlotBin(bins[f][i]));
      }
    }
  });
}

}  // namespace

BinMatrix::BinMatrix(const DataSet& data, const std::vector<FeatureCuts>& cuts, bool bundle, ThreadPool* pool)
    : rows_(data.rows) {
  const int features = static_cast<int>(data.columns.size());
  std::vector<std::vector<uint16_t>> bins(features, std::vector<uint16_t>(data.rows));
  pool->Run(features, [&](int f, int) {
    for (int64_t i = 0; i < data.rows; ++i) {
      const float value = data.columns[f][i];
      bins[f][i] = static_cast<uint16_t>(std::isnan(value) ? cuts[f].bins() : cuts[f].BinOf(value));
    }
  });
  PlaceFeatures(bins, cuts, bundle);
  narrow_ = std::all_of(slot_bins_.begin(), slot_bins_.end(), [](int count) { return count <= 256; });
  if (narrow_)
    Fill(bins, features_, slots(), rows_, pool, &bytes_);
  else
    Fill(bins, features_, slots(), rows_, pool, &words_);
}

void BinMatrix::PlaceFeatures(const std::vector<std::vector<uint16_t>>& bins,
                              const std::vector<FeatureCuts>& cuts, bool bundle) {
  std::vector<Bundle> bundles;
  for (std::size_t f = 0; f < bins.size(); ++f) {
    FeatureSlot feature;
    feature.values = cuts[f].bins();
    // Validation data may miss values where training data did not.
    feature.has_missing = cuts[f].has_missing || !bundle;
    feature.slot = slots();
    const int default_bin = bundle ? DefaultBin(cuts[f], bins[f]) : -1;
    std::vector<uint64_t> marked;
    if (default_bin >= 0 && feature.bins() < kMostBundleBins) marked = MarkedRows(bins[f], default_bin);
    Bundle* home = nullptr;
    for (std::size_t b = bundles.size(); b-- > 0 && bundles.size() - b <= kMostBundles && !marked.empty();) {
      if (slot_bins_[bundles[b].slot] + feature.bins() - 1 > kMostBundleBins) continue;
      if (Disjoint(bundles[b].marked, marked)) home = &bundles[b];
      if (home != nullptr) break;
    }
    if (home != nullptr) {
      feature.slot = home->slot;
      feature.default_bin = default_bin;
      feature.first = slot_bins_[home->slot];
      slot_bins_[home->slot] += feature.bins() - 1;
      for (std::size_t i = 0; i < marked.size(); ++i) home->marked[i] |= marked[i];
    } else if (!marked.empty()) {
      feature.default_bin = default_bin;
      feature.first = 1;
      slot_bins_.push_back(feature.bins());
      bundles.push_back({feature.slot, std::move(marked)});
    } else {
      slot_bins_.push_back(feature.bins());
    }
    features_.push_back(feature);
  }
}

std::vector<uint8_t> BinMatrix::LeftTable(int feature, int last_left, bool missing_left) const {
  const FeatureSlot& at = features_[feature];
  const auto goes_left = [&](int bin) { return bin == at.values ? missing_left : bin <= last_left; };
  std::vector<uint8_t> table(slot_bins_[at.slot], at.default_bin >= 0 ? goes_left(at.default_bin) : 0);
  for (int bin = 0; bin < at.bins(); ++bin) {
    if (bin != at.default_bin) table[at.SlotBin(bin)] = goes_left(bin);
  }
  return table;
}

uint64_t BinMatrix::Fingerprint() const {
  const uint8_t* data = narrow_ ? bytes_.data() : reinterpret_cast<const uint8_t*>(words_.data());
  const std::size_t size = narrow_ ? bytes_.size() : words_.size() * 2;
  uint64_t hash = HashOf(static_cast<uint64_t>(rows_), static_cast<uint64_t>(slots()));
  for (std::size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, std::min<std::size_t>(8, size - i));
    hash = MixBits(hash ^ word);
  }
  return hash;
}

}  // namespace winnow
