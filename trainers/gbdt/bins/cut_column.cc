#include "trainers/gbdt/bins/cut_column.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "trainers/common/fixed_point.h"
#include "trainers/gbdt/bins/radix_sort.h"

namespace winnow::gbdt {
namespace {

// The distinct ordered keys among many, until there are more than `most`.
class DistinctKeys {
 public:
  explicit DistinctKeys(std::size_t most)
      : most_(most), bits_(std::bit_width(2 * most + 1)), slots_(std::size_t{1} << bits_) {}

  // False once there are too many. REQUIRES: not the key of a NaN.
  bool Add(uint32_t key) {
    constexpr uint32_t kGolden = 0x9e3779b1u;  // 2^32 / golden ratio: Knuth's multiplicative hash
    std::size_t at = key * kGolden >> (32 - bits_);
    while (slots_[at] != kNone && slots_[at] != key) at = (at + 1) & (slots_.size() - 1);
    if (slots_[at] == key) return true;
    if (count_ == most_) return false;
    slots_[at] = key;
    ++count_;
    return true;
  }

  std::vector<uint32_t> Sorted() const {
    std::vector<uint32_t> keys;
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(keys),
                 [](uint32_t key) { return key != kNone; });
    std::sort(keys.begin(), keys.end());
    return keys;
  }

 private:
  static constexpr uint32_t kNone = 0;  // a NaN's
  const std::size_t most_;
  const int bits_;
  std::size_t count_ = 0;
  std::vector<uint32_t> slots_;
};

// Returns thresholds of a sorted list of keys with weights.
template <typename KeyOf, typename WeightOf>
std::vector<float> EvenThresholds(std::size_t count, int most, KeyOf key, WeightOf weight) {
  uint64_t remaining = 0;
  for (std::size_t i = 0; i < count; ++i) remaining += weight(i);
  std::vector<float> thresholds;
  uint64_t in_bin = 0;
  auto bins_left = static_cast<uint64_t>(most);
  for (std::size_t i = 0; i + 1 < count && bins_left > 1; ++i) {
    in_bin += weight(i);
    if (key(i) == key(i + 1)) continue;
    // Closes the bin when it is full. The target is recomputed from the rest, so that heavy values leave
    // enough for other bins.
    if (static_cast<unsigned __int128>(in_bin) * bins_left < remaining) continue;
    thresholds.push_back(KeyedFloat(key(i + 1)));
    remaining -= in_bin;
    in_bin = 0;
    --bins_left;
  }
  return thresholds;
}

}  // namespace

ColumnScan ScanColumn(std::span<const float> column, int most) {
  ColumnScan scan;
  DistinctKeys distinct(static_cast<std::size_t>(most));
  float last = std::nanf("");
  std::size_t i = 0;
  for (; i < column.size() && scan.few; ++i) {
    const float value = column[i];
    if (value == last) continue;
    if (std::isnan(value)) {
      scan.has_missing = true;
      continue;
    }
    last = value;
    scan.few = distinct.Add(OrderedKey(value));
  }
  unsigned missing = 0;
  for (; i < column.size(); ++i) missing |= column[i] != column[i];
  scan.has_missing |= missing != 0;
  if (scan.few) scan.keys = distinct.Sorted();
  return scan;
}

ColumnScan ScanColumn(const SparseColumn& column, int64_t rows, int most) {
  ColumnScan scan;
  const bool has_rest = static_cast<int64_t>(column.rows.size()) < rows;
  scan.has_missing = has_rest && std::isnan(column.rest);
  std::vector<uint32_t>& keys = scan.keys;
  for (const float value : column.values) {
    if (std::isnan(value))
      scan.has_missing = true;
    else
      keys.push_back(OrderedKey(value));
  }
  if (has_rest && !std::isnan(column.rest)) keys.push_back(OrderedKey(column.rest));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  scan.few = keys.size() <= static_cast<std::size_t>(most);
  if (!scan.few) keys.clear();
  return scan;
}

ColumnSample SampleColumn(const SparseColumn& column, std::span<const int32_t> positions, int64_t taken,
                          std::span<const uint32_t> weights) {
  ColumnSample sample;
  uint64_t rest_weight = 0;
  for (const uint32_t weight : weights) rest_weight += weight;
  int64_t rest = taken;
  for (std::size_t i = 0; i < column.rows.size(); ++i) {
    const int64_t position = positions.empty() ? column.rows[i] : positions[column.rows[i]];
    if (position < 0) continue;
    --rest;
    if (!weights.empty()) rest_weight -= weights[position];
    if (std::isnan(column.values[i])) continue;
    const uint32_t key = OrderedKey(column.values[i]);
    if (weights.empty())
      sample.keys.push_back(key);
    else
      sample.weighted.push_back(uint64_t{key} << 32 | weights[position]);
  }
  if (std::isnan(column.rest)) return sample;
  const uint32_t key = OrderedKey(column.rest);
  if (weights.empty()) {
    sample.keys.insert(sample.keys.end(), rest, key);
    return sample;
  }
  for (int64_t i = 0; i < rest; ++i) {
    const uint64_t part = std::min<uint64_t>(rest_weight, 0xffffffffu);
    sample.weighted.push_back(uint64_t{key} << 32 | part);
    rest_weight -= part;
  }
  return sample;
}

ColumnSample SampleColumn(std::span<const float> column, std::span<const uint32_t> rows,
                          std::span<const uint32_t> weights) {
  const std::size_t count = rows.empty() ? column.size() : rows.size();
  const auto value = [&](std::size_t i) { return rows.empty() ? column[i] : column[rows[i]]; };
  ColumnSample sample;
  std::size_t kept = 0;
  if (weights.empty()) {
    sample.keys.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      sample.keys[kept] = OrderedKey(value(i));
      kept += value(i) == value(i);
    }
    sample.keys.resize(kept);
    return sample;
  }
  sample.weighted.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    sample.weighted[kept] = uint64_t{OrderedKey(value(i))} << 32 | weights[i];
    kept += value(i) == value(i);
  }
  sample.weighted.resize(kept);
  return sample;
}

int MostBins(int max_bin, bool has_missing) {
  constexpr int kByteBins = 256, kWordBins = 65536;
  return max_bin - (has_missing && (max_bin == kByteBins || max_bin == kWordBins) ? 1 : 0);
}

FeatureCuts CutsOfEach(std::span<const uint32_t> keys, bool has_missing) {
  FeatureCuts cuts;
  cuts.has_missing = has_missing;
  for (std::size_t i = 1; i < keys.size(); ++i) cuts.thresholds.push_back(KeyedFloat(keys[i]));
  return cuts;
}

FeatureCuts CutsOfSample(ColumnSample* sample, int max_bin, bool has_missing) {
  FeatureCuts cuts;
  cuts.has_missing = has_missing;
  const int most = MostBins(max_bin, has_missing);
  if (!sample->weighted.empty()) {
    std::vector<uint64_t> scratch;
    RadixSortUpper(&sample->weighted, &scratch);
    const std::vector<uint64_t>& words = sample->weighted;
    cuts.thresholds = EvenThresholds(
        words.size(), most, [&](std::size_t i) { return static_cast<uint32_t>(words[i] >> 32); },
        [&](std::size_t i) { return static_cast<uint32_t>(words[i]); });
    return cuts;
  }
  std::vector<uint32_t> scratch;
  RadixSort(&sample->keys, &scratch);
  const std::vector<uint32_t>& keys = sample->keys;
  cuts.thresholds = EvenThresholds(
      keys.size(), most, [&](std::size_t i) { return keys[i]; }, [](std::size_t) { return uint32_t{1}; });
  return cuts;
}

std::vector<uint32_t> WholeWeights(std::span<const float> weight, std::span<const uint32_t> rows,
                                   float heaviest) {
  const double scale = std::ldexp(1.0, ScaleExponent(heaviest, 31));
  const std::size_t count = rows.empty() ? weight.size() : rows.size();
  std::vector<uint32_t> whole(weight.empty() ? 0 : count);
  for (std::size_t i = 0; i < whole.size(); ++i)
    whole[i] = static_cast<uint32_t>(weight[rows.empty() ? i : rows[i]] * scale);
  return whole;
}

}  // namespace winnow::gbdt
