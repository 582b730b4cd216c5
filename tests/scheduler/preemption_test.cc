#include "scheduler/preemption.h"

#include <time.h>

#include <algorithm>
#include <limits>

#include "tests/catch.h"

namespace winnow {
namespace {

RunningTrial On(const char* worker, int64_t trial, int32_t job_class, int64_t started_us = 0) {
  return {1, trial, job_class, started_us, false, {}, {{worker}}};
}

std::vector<size_t> Stopped(const std::vector<WorkerRoom>& rooms, const std::vector<RunningTrial>& running,
                            const GangRequest& gang, const Reservation& reserved = {"a", "b"}) {
  return TrialsToPreempt(rooms, running, gang, 2, reserved);
}

TEST_CASE("Preemption: the lowest class goes first, then what was started last", "[scheduler]") {
  const std::vector<WorkerRoom> rooms = {{"a", 0, ""}};
  CHECK(Stopped(rooms, {On("a", 1, 1, 9), On("a", 2, 0, 5), On("a", 3, 0, 7), On("a", 4, 0, 6)}, {}) ==
        std::vector<size_t>{2});
  CHECK(Stopped(rooms, {On("a", 1, 1, 9), On("a", 2, 0, 5)}, {.nodes = 2}) == std::vector<size_t>{1, 0});
}

TEST_CASE("Preemption: an equal or higher class is never stopped, and nothing in vain", "[scheduler]") {
  const std::vector<WorkerRoom> rooms = {{"a", 0, ""}, {"b", 0, ""}};
  CHECK(Stopped(rooms, {On("a", 1, 2), On("b", 2, 3)}, {}).empty());
  CHECK(Stopped(rooms, {On("a", 1, 0), On("b", 2, 2)}, {.nodes = 2}).empty());
  // A trial on a worker that is not reserved is left alone.
  CHECK(Stopped(rooms, {On("a", 1, 0)}, {}, {"b"}).empty());
}

TEST_CASE("Preemption: nothing is stopped where there is room, or will be once others have stopped",
          "[scheduler]") {
  CHECK(Stopped({{"a", 1, ""}}, {On("a", 1, 0)}, {}).empty());
  RunningTrial stopping = On("a", 1, 5);
  stopping.stopping = true;
  CHECK(Stopped({{"a", 0, ""}}, {stopping, On("a", 2, 0)}, {}).empty());
  CHECK(Stopped({{"a", 0, ""}}, {stopping, On("a", 2, 0)}, {.nodes = 2}) == std::vector<size_t>{1});
}

TEST_CASE("Preemption: no trial is stopped that others make unnecessary", "[scheduler]") {
  // A rank of 3 slots needs the trial that has them; the newer one of a single slot would not help.
  RunningTrial wide = On("a", 1, 0, 1);
  wide.shape.slots = 3;
  GangRequest gang;
  gang.shape.slots = 3;
  CHECK(Stopped({{"a", 0, ""}, {"b", 0, ""}}, {wide, On("b", 2, 0, 9)}, gang) == std::vector<size_t>{0});
}

TEST_CASE("Preemption: GPUs come back whole, and shared ones when their last rank goes", "[scheduler]") {
  const WorkerRoom worker{"a", 4, "", {}, 8, 8, {{"0", 0.25, 2}, {"1", 0, 1}}};
  RunningTrial half{1, 1, 0, 0, false, {.gpu_share = 0.5}, {{"a", {"0"}}}};
  RunningTrial quarter{1, 2, 0, 0, false, {.gpu_share = 0.25}, {{"a", {"0"}}}};
  RunningTrial whole{1, 3, 0, 0, false, {.gpus = 1}, {{"a", {"1"}}}};
  const auto one = WithoutTrials({worker}, {half});
  CHECK(one[0].gpus[0].free == 0.75);
  CHECK(one[0].gpus[0].ranks == 1);
  const auto all = WithoutTrials({worker}, {half, quarter, whole});
  CHECK(all[0].gpus[0] == GpuRoom{"0", 1, 0});
  CHECK(all[0].gpus[1] == GpuRoom{"1", 1, 0});
  GangRequest gang;
  gang.shape.gpus = 2;
  CHECK(Stopped({worker}, {half, quarter, whole}, gang).size() == 3);
}

// A worker of one slot each, with a trial of the lowest class on it, the newest on the last.
struct FullWorkers {
  explicit FullWorkers(int count) {
    for (int i = 0; i < count; ++i) {
      rooms.push_back({std::to_string(1'000'000 + i), 0, ""});  // in order of their ids
      running.push_back(On(rooms.back().worker_id.c_str(), i, 0, i));
    }
  }
  std::vector<WorkerRoom> rooms;
  std::vector<RunningTrial> running;
};

TEST_CASE("Preemption: each trial gives back to its own worker, among thousands", "[scheduler]") {
  FullWorkers full(10'000);
  std::vector<RunningTrial> odd;
  for (size_t i = 1; i < full.running.size(); i += 2) odd.push_back(full.running[i]);
  odd.push_back(On("1000000x", 1, 0));
  odd.push_back(On("x", 2, 0));  // of workers that get nothing
  const std::vector<WorkerRoom> then = WithoutTrials(full.rooms, odd);
  size_t right = 0;
  for (size_t i = 0; i < then.size(); ++i) {
    const bool is_own = then[i].worker_id == full.rooms[i].worker_id;
    right += is_own && then[i].free_slots == static_cast<int32_t>(i % 2) ? 1 : 0;
  }
  CHECK(right == 10'000);
  CHECK(Stopped(full.rooms, full.running, {}, {"1000007", "1009001"}) == std::vector<size_t>{9001});
}

// The least processor time of this thread that it takes to give back what all trials hold.
int64_t TimeToGiveBack(const FullWorkers& full) {
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < 5; ++i) {
    const int64_t begin = now();
    REQUIRE(WithoutTrials(full.rooms, full.running).back().free_slots == 1);
    least = std::min(least, now() - begin);
  }
  return least;
}

// Each batch does that while a job waits.
TEST_CASE("Preemption: ten times the workers and trials take no hundred times the work", "[scheduler]") {
  CHECK(TimeToGiveBack(FullWorkers(10'000)) < 50 * TimeToGiveBack(FullWorkers(1000)));
}

}  // namespace
}  // namespace winnow
