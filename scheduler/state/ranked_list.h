#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// Numbered keys in their order, less first, equal ones by lower number. Adding, removing, ranks and the nth
// of n keys cost O(log n) comparisons and O(sqrt n) moves of small values: about a microsecond at a million.
class RankedList {
 public:
  using Entry = std::pair<double, TrialNumber>;

  // REQUIRES a finite key; the same entry is not added twice.
  void Add(const Entry& entry);
  // REQUIRES the entry was added.
  void Remove(const Entry& entry);

  size_t size() const { return size_; }
  // How many entries come before it, whether or not it is in the list.
  size_t Rank(const Entry& entry) const;
  // How many keys are less.
  size_t CountBelow(double key) const;
  // REQUIRES index < size().
  const Entry& Nth(size_t index) const;

  bool operator==(const RankedList&) const = default;

 private:
  size_t BlockOf(const Entry& entry) const;

  size_t size_ = 0;
  std::vector<std::vector<Entry>> blocks_;  // none is empty
  // First entry and size of each block, contiguous for the search.
  std::vector<Entry> firsts_;
  std::vector<uint32_t> sizes_;
};

}  // namespace winnow
