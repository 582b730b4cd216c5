#include "trainers/common/thread_pool.h"

#include <atomic>

#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("ThreadPool: every task runs once, batch after batch", "[gbdt]") {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (int tasks : {0, 1, 2, 7, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
      std::atomic<bool> strange_thread{false};
      pool.Run(tasks, [&](int task, int thread) {
        ++runs[static_cast<std::size_t>(task)];
        if (thread < 0 || thread >= threads) strange_thread = true;
      });
      for (const std::atomic<int>& count : runs) CHECK(count == 1);
      CHECK_FALSE(strange_thread);
    }
  }
}

}  // namespace
}  // namespace winnow
