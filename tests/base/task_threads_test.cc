#include "base/task_threads.h"

#include <future>
#include <latch>
#include <memory>
#include <vector>

#include "tests/catch.h"

namespace winnow {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

TEST_CASE("TaskThreads: one thread runs tasks in order, and those that wait at the end too", "[base]") {
  std::vector<int> ran;
  {
    TaskThreads threads;
    for (int i = 0; i < 100; ++i) threads.Post([&ran, i] { ran.push_back(i); });
  }
  REQUIRE(ran.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(ran[static_cast<size_t>(i)] == i);
}

TEST_CASE("TaskThreads: several threads run at once", "[base]") {
  std::latch both(2);
  TaskThreads threads(2);
  for (int i = 0; i < 2; ++i) threads.Post([&] { both.arrive_and_wait(); });
}

// A thread that is busy until `go` is set.
struct Busy {
  Busy() {
    std::promise<void> begun;
    threads.Post([&begun, gone = go.get_future().share()] {
      begun.set_value();
      gone.wait();
    });
    begun.get_future().wait();
  }
  std::promise<void> go;
  TaskThreads threads;
};

TEST_CASE("TaskThreads: a bound on those that wait", "[base]") {
  Busy busy;
  int ran = 0;
  CHECK(busy.threads.PostWithin(2, [&] { ++ran; }));
  CHECK(busy.threads.PostWithin(2, [&] { ++ran; }));
  CHECK_FALSE(busy.threads.PostWithin(2, [&] { ++ran; }));
  std::promise<void> end;
  busy.threads.Post([&] { end.set_value(); });
  busy.go.set_value();
  end.get_future().wait();
  CHECK(ran == 2);
}

TEST_CASE("TaskThreads: what is cleared never runs and is destroyed", "[base]") {
  Busy busy;
  auto kept = std::make_shared<int>(0);
  busy.threads.Post([kept] { ++*kept; });
  CHECK(kept.use_count() == 2);
  busy.threads.Clear();
  CHECK(kept.use_count() == 1);
  busy.go.set_value();
}

TEST_CASE("TaskThreads: a stop drops what waits, ends the waiting of tasks, and runs nothing later",
          "[base]") {
  TaskThreads threads;
  std::promise<void> begun;
  bool stopped = false, ran = false;
  threads.Post([&] {
    begun.set_value();
    stopped = threads.WaitForStop(hours(1));
  });
  begun.get_future().wait();
  threads.Post([&] { ran = true; });
  threads.Stop();
  threads.Post([&] { ran = true; });
  CHECK(stopped);
  CHECK(threads.stopping());
  CHECK_FALSE(ran);
}

TEST_CASE("TaskThreads: waiting for a stop that does not come", "[base]") {
  TaskThreads threads;
  CHECK_FALSE(threads.WaitForStop(nanoseconds(1)));
}

}  // namespace
}  // namespace winnow
