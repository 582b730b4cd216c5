#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "scheduler/space/types.h"

namespace winnow {

// Numbered keys, of which only the first is asked for: the least key, ties by lower number. Entries that no
// longer count stay until they come first. Adding moves a few neighbouring values; a set of a million would
// wait for memory at every level of its tree.
class FirstOf {
 public:
  using Entry = std::pair<double, TrialNumber>;

  void Add(const Entry& entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  // Removes the first entry until it counts. Each entry is removed once: O(log n).
  template <typename Counts>
  void DropUnless(Counts counts) {
    while (!heap_.empty() && !counts(heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
  }
  // Removes all entries that do not count. O(n).
  template <typename Counts>
  void KeepOnly(Counts counts) {
    std::erase_if(heap_, [&counts](const Entry& entry) { return !counts(entry); });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  bool empty() const { return heap_.empty(); }
  size_t size() const { return heap_.size(); }
  // REQUIRES !empty().
  const Entry& first() const { return heap_.front(); }

  // True only after the same calls in the same order.
  bool operator==(const FirstOf&) const = default;

 private:
  std::vector<Entry> heap_;
};

}  // namespace winnow
