#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace winnow {

// Calls fn(i) once for every i below `count`, on up to `threads` threads including the caller's, starting in
// ascending order. What fn writes must not depend on the order of completion.
template <typename Fn>
void ParallelFor(int threads, size_t count, const Fn& fn) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;) fn(i);
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(static_cast<size_t>(std::max(threads, 1)), count); ++i)
    others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
}

}  // namespace winnow
