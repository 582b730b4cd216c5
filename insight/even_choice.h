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

// Returns at most `count` items: the first half of them are the first items, the others are spaced evenly
// over the rest.
template <typename T>
std::vector<T> ChooseFirstAndEvenly(std::vector<T> items, size_t count) {
  if (items.size() <= count) return items;
  const auto first = static_cast<std::ptrdiff_t>((count + 1) / 2);
  const std::vector<T> rest(items.begin() + first, items.end());
  items.resize(first);
  for (const T& item : ChooseEvenly(rest, count - items.size())) items.push_back(item);
  return items;
}

}  // namespace winnow
