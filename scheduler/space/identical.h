#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <ranges>
#include <type_traits>
#include <utility>
#include <variant>

namespace winnow {

// Whether two values are equal to the bit: unlike under ==, a NaN equals itself and 0 differs from -0. Looks
// into lists, pairs and variants; everything else is compared by its own ==.
template <typename T>
bool Identical(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
  } else if constexpr (std::ranges::range<T>) {
    return std::ranges::equal(a, b, [](const auto& x, const auto& y) { return Identical(x, y); });
  } else if constexpr (requires { std::variant_size<T>::value; }) {
    if (a.index() != b.index()) return false;
    return std::visit([&b](const auto& x) { return Identical(x, std::get<std::decay_t<decltype(x)>>(b)); },
                      a);
  } else if constexpr (requires { a.first, a.second; }) {
    return Identical(a.first, b.first) && Identical(a.second, b.second);
  } else {
    return a == b;
  }
}

}  // namespace winnow
