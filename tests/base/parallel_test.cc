#include "base/parallel.h"

#include <atomic>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("ForEachInParallel: each number once, several at a time", "[base]") {
  std::vector<std::atomic<int>> called(12);
  std::latch together(4);  // reached only if four calls run at once
  CHECK(ForEachInParallel(called.size(), 4, [&](size_t i) {
          ++called[i];
          if (i < 4) together.arrive_and_wait();
          return absl::OkStatus();
        }).ok());
  for (const std::atomic<int>& count : called) CHECK(count == 1);
}

TEST_CASE("ForEachInParallel: with one thread on the caller's, and nothing for nothing", "[base]") {
  std::vector<size_t> called;
  std::set<std::thread::id> threads;
  const auto each = [&](size_t i) {
    called.push_back(i);
    threads.insert(std::this_thread::get_id());
    return absl::OkStatus();
  };
  CHECK(ForEachInParallel(0, 4, each).ok());
  CHECK(called.empty());
  CHECK(ForEachInParallel(1, 4, each).ok());
  CHECK(ForEachInParallel(3, 1, each).ok());
  CHECK(called == std::vector<size_t>{0, 0, 1, 2});
  CHECK(threads == std::set{std::this_thread::get_id()});
}

TEST_CASE("ForEachInParallel: the first error is returned, and none begins after it", "[base]") {
  for (const int threads : {1, 4}) {
    std::atomic<size_t> highest = 0;
    const absl::Status status = ForEachInParallel(1000, threads, [&](size_t i) -> absl::Status {
      if (i > highest) highest = i;
      return i < 5 ? absl::OkStatus() : absl::AbortedError(std::to_string(i));
    });
    CHECK(absl::IsAborted(status));
    CHECK(highest < 5 + static_cast<size_t>(threads));
  }
}

}  // namespace
}  // namespace winnow
