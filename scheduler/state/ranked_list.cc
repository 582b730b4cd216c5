#include "scheduler/state/ranked_list.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace winnow {
namespace {

// A full block is halved. Near the square root of the largest lists, so that blocks and their number stay
// short.
constexpr size_t kMostInBlock = 512;

}  // namespace

// The last block that begins at or before the entry; the first if none does. REQUIRES there are blocks.
size_t RankedList::BlockOf(const Entry& entry) const {
  const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), entry);
  return after == firsts_.begin() ? 0 : static_cast<size_t>(after - firsts_.begin()) - 1;
}

void RankedList::Add(const Entry& entry) {
  ++size_;
  if (blocks_.empty()) {
    blocks_.push_back({entry});
    firsts_.push_back(entry);
    sizes_.push_back(1);
    return;
  }
  const size_t b = BlockOf(entry);
  std::vector<Entry>& block = blocks_[b];
  block.insert(std::upper_bound(block.begin(), block.end(), entry), entry);
  firsts_[b] = block.front();
  ++sizes_[b];
  if (block.size() < kMostInBlock) return;
  const auto next = static_cast<std::ptrdiff_t>(b) + 1;
  std::vector<Entry> upper(block.begin() + kMostInBlock / 2, block.end());
  block.resize(kMostInBlock / 2);
  sizes_[b] = static_cast<uint32_t>(block.size());
  firsts_.insert(firsts_.begin() + next, upper.front());
  sizes_.insert(sizes_.begin() + next, static_cast<uint32_t>(upper.size()));
  blocks_.insert(blocks_.begin() + next, std::move(upper));
}

void RankedList::Remove(const Entry& entry) {
  const size_t b = BlockOf(entry);
  std::vector<Entry>& block = blocks_[b];
  block.erase(std::lower_bound(block.begin(), block.end(), entry));
  --size_;
  if (--sizes_[b] > 0) {
    firsts_[b] = block.front();
    return;
  }
  const auto at = static_cast<std::ptrdiff_t>(b);
  blocks_.erase(blocks_.begin() + at);
  firsts_.erase(firsts_.begin() + at);
  sizes_.erase(sizes_.begin() + at);
}

size_t RankedList::Rank(const Entry& entry) const {
  if (blocks_.empty()) return 0;
  const size_t b = BlockOf(entry);
  const std::vector<Entry>& block = blocks_[b];
  const auto before =
      std::accumulate(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(b), size_t{0});
  return before + static_cast<size_t>(std::lower_bound(block.begin(), block.end(), entry) - block.begin());
}

size_t RankedList::CountBelow(double key) const {
  return Rank({key, std::numeric_limits<TrialNumber>::min()});
}

const RankedList::Entry& RankedList::Nth(size_t index) const {
  size_t b = 0;
  while (index >= sizes_[b]) index -= sizes_[b++];
  return blocks_[b][index];
}

}  // namespace winnow
