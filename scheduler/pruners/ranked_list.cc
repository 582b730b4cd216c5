#include "scheduler/pruners/ranked_list.h"

#include <algorithm>
#include <limits>

namespace winnow {
namespace {

// A full block is halved. Near the square root of the largest lists, so that blocks and their number stay
// short.
constexpr size_t kMostInBlock = 1024;

}  // namespace

// The last block that begins at or before the entry; the first if none does. REQUIRES there are blocks.
size_t RankedList::BlockOf(const Entry& entry) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), entry,
                                      [](const Entry& e, const auto& block) { return e < block.front(); });
  return after == blocks_.begin() ? 0 : static_cast<size_t>(after - blocks_.begin()) - 1;
}

void RankedList::Add(const Entry& entry) {
  ++size_;
  if (blocks_.empty()) {
    blocks_.push_back({entry});
    return;
  }
  const size_t b = BlockOf(entry);
  std::vector<Entry>& block = blocks_[b];
  block.insert(std::upper_bound(block.begin(), block.end(), entry), entry);
  if (block.size() < kMostInBlock) return;
  std::vector<Entry> upper(block.begin() + kMostInBlock / 2, block.end());
  block.resize(kMostInBlock / 2);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(b) + 1, std::move(upper));
}

size_t RankedList::Rank(const Entry& entry) const {
  if (blocks_.empty()) return 0;
  const size_t b = BlockOf(entry);
  size_t rank = 0;
  for (size_t i = 0; i < b; ++i) rank += blocks_[i].size();
  const std::vector<Entry>& block = blocks_[b];
  return rank + static_cast<size_t>(std::lower_bound(block.begin(), block.end(), entry) - block.begin());
}

size_t RankedList::CountBelow(double key) const {
  return Rank({key, std::numeric_limits<TrialNumber>::min()});
}

const RankedList::Entry& RankedList::Nth(size_t index) const {
  size_t b = 0;
  while (index >= blocks_[b].size()) index -= blocks_[b++].size();
  return blocks_[b][index];
}

}  // namespace winnow
