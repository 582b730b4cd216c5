#include "trainers/data/cache/checksum.h"

#include <algorithm>
#include <cstring>

namespace winnow {
namespace {

constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ULL;  // odd, so that multiplication loses no information

uint64_t WordAt(const std::byte* at, std::size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

uint64_t Stir(uint64_t chain, uint64_t word) {
  chain = (chain ^ word) * kFactor;
  return chain ^ (chain >> 29);
}

}  // namespace

uint64_t ContentChecksum(std::span<const std::byte> content) {
  constexpr std::size_t kLanes = 4, kWord = 8;
  uint64_t lanes[kLanes] = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + kLanes * kWord <= content.size(); at += kLanes * kWord) {
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = Stir(lanes[lane], WordAt(content.data() + at + lane * kWord, kWord));
  }
  uint64_t sum = content.size();
  for (uint64_t lane : lanes) sum = Stir(sum, lane);
  for (; at < content.size(); at += kWord)
    sum = Stir(sum, WordAt(content.data() + at, std::min(kWord, content.size() - at)));
  return sum;
}

}  // namespace winnow
