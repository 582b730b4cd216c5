#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace winnow {

struct Latencies {
  std::vector<double> ms;
  // By nearest rank; 0 without any.
  double At(double quantile) {
    if (ms.empty()) return 0;
    const size_t k = std::min(ms.size() - 1, static_cast<size_t>(quantile * static_cast<double>(ms.size())));
    std::nth_element(ms.begin(), ms.begin() + static_cast<std::ptrdiff_t>(k), ms.end());
    return ms[k];
  }
};

struct Load {
  double calls_per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  int64_t failures = 0;
};

// Keeps `callers` calls in progress for `seconds`; each caller calls again after its answer. call(caller,
// done) starts one call; done(ok) must be called once.
template <typename Call>
Load RunClosedLoop(int callers, double seconds, Call call) {
  using SteadyClock = std::chrono::steady_clock;
  std::mutex mutex;
  std::condition_variable idle;
  int outstanding = callers;
  Latencies latencies;
  std::atomic<int64_t> failures = 0;
  const auto begin = SteadyClock::now();
  const auto end =
      begin + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  std::function<void(int)> start = [&](int caller) {
    const auto sent = SteadyClock::now();
    call(caller, [&, caller, sent](bool ok) {
      const auto now = SteadyClock::now();
      if (!ok) ++failures;
      {
        std::lock_guard lock(mutex);
        latencies.ms.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
        if (now >= end) {
          if (--outstanding == 0) idle.notify_all();
          return;
        }
      }
      start(caller);
    });
  };
  for (int caller = 0; caller < callers; ++caller) start(caller);
  std::unique_lock lock(mutex);
  idle.wait(lock, [&] { return outstanding == 0; });
  const double elapsed = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return {static_cast<double>(latencies.ms.size()) / elapsed, latencies.At(0.5), latencies.At(0.99),
          failures};
}

// Calls are due at a fixed rate, in turn by caller, whether or not earlier ones were answered: a busy caller
// calls as soon as it is free. Latencies count from the due time.
template <typename Call>
Load RunOpenLoop(int callers, double calls_per_second, double seconds, Call call) {
  using SteadyClock = std::chrono::steady_clock;
  using Time = SteadyClock::time_point;
  std::mutex mutex;
  std::condition_variable idle;
  std::vector<std::deque<Time>> due(static_cast<size_t>(callers));  // the front one is in progress
  int64_t outstanding = 0;
  Latencies latencies;
  int64_t failures = 0;
  std::function<void(int)> start = [&](int caller) {
    call(caller, [&, caller](bool ok) {
      bool more = false;
      {
        std::lock_guard lock(mutex);
        std::deque<Time>& own = due[static_cast<size_t>(caller)];
        if (!ok) ++failures;
        latencies.ms.push_back(
            std::chrono::duration<double, std::milli>(SteadyClock::now() - own.front()).count());
        own.pop_front();
        more = !own.empty();
        if (--outstanding == 0) idle.notify_all();
      }
      if (more) start(caller);
    });
  };
  const auto total = static_cast<int64_t>(calls_per_second * seconds);
  const auto begin = SteadyClock::now();
  for (int64_t k = 0; k < total; ++k) {
    const Time at = begin + std::chrono::duration_cast<SteadyClock::duration>(
                                std::chrono::duration<double>(static_cast<double>(k) / calls_per_second));
    std::this_thread::sleep_until(at);
    const int caller = static_cast<int>(k % callers);
    bool free = false;
    {
      std::lock_guard lock(mutex);
      std::deque<Time>& own = due[static_cast<size_t>(caller)];
      free = own.empty();
      own.push_back(at);
      ++outstanding;
    }
    if (free) start(caller);
  }
  std::unique_lock lock(mutex);
  idle.wait(lock, [&] { return outstanding == 0; });
  const double elapsed = std::chrono::duration<double>(SteadyClock::now() - begin).count();
  return {static_cast<double>(latencies.ms.size()) / elapsed, latencies.At(0.5), latencies.At(0.99),
          failures};
}

}  // namespace winnow
