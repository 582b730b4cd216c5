#include "trainers/gbdt/bins/radix_sort.h"

#include <algorithm>
#include <array>
#include <utility>

namespace winnow::gbdt {
namespace {

constexpr int kBits = 11, kBuckets = 1 << kBits, kPasses = 3;
constexpr std::size_t kFew = 512;  // comparison sort is faster for fewer

// Sorts by the 32 bits from `lowest` on.
template <typename Key>
void SortBits(int lowest, std::vector<Key>* keys, std::vector<Key>* scratch) {
  scratch->resize(keys->size());
  std::array<std::array<uint32_t, kBuckets>, kPasses> counts{};
  const auto digit = [lowest](Key key, int pass) {
    return (static_cast<uint32_t>(key >> lowest) >> (pass * kBits)) & (kBuckets - 1);
  };
  for (const Key key : *keys) {
    for (int pass = 0; pass < kPasses; ++pass) ++counts[pass][digit(key, pass)];
  }
  for (int pass = 0; pass < kPasses; ++pass) {
    // If all share the digit, there is nothing to move.
    if (!keys->empty() && counts[pass][digit(keys->front(), pass)] == keys->size()) continue;
    uint32_t sum = 0;
    for (uint32_t& count : counts[pass]) sum += std::exchange(count, sum);
    for (const Key key : *keys) (*scratch)[counts[pass][digit(key, pass)]++] = key;
    keys->swap(*scratch);
  }
}

}  // namespace

void RadixSort(std::vector<uint32_t>* keys, std::vector<uint32_t>* scratch) {
  if (keys->size() < kFew)
    std::sort(keys->begin(), keys->end());
  else
    SortBits(0, keys, scratch);
}

void RadixSortUpper(std::vector<uint64_t>* keys, std::vector<uint64_t>* scratch) {
  if (keys->size() < kFew)
    std::stable_sort(keys->begin(), keys->end(), [](uint64_t a, uint64_t b) { return a >> 32 < b >> 32; });
  else
    SortBits(32, keys, scratch);
}

}  // namespace winnow::gbdt
