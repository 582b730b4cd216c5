#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace winnow {

// Returns at most `count` items, spaced evenly in their order; includes the first and (from two on) the last.
template <typename T>
std::vector<T> ChooseEvenly(const std::vector<T>& items, size_t count) {
  if (items.size() <= count) return items;
  std::vector<T> chosen;
  chosen.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    chosen.push_back(items[count == 1 ? 0 : i * (items.size() - 1) / (count - 1)]);
  }
  return chosen;
}

}  // namespace winnow
