#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace winnow::gbdt {

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

}  // namespace winnow::gbdt
