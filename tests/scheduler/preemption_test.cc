#include "scheduler/preemption.h"

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

}  // namespace
}  // namespace winnow
