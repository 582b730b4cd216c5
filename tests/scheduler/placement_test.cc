#include "scheduler/placement.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "scheduler/reservation.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

using Workers = std::vector<std::string>;

TEST_CASE("Placement: all ranks or none", "[scheduler]") {
  CHECK_FALSE(Place({{"a", 2, ""}, {"b", 1, ""}}, {4, "", ""}));
  CHECK(Place({{"a", 2, ""}, {"b", 1, ""}}, {3, "", ""}) == Workers{"a", "b", "a"});
  CHECK_FALSE(Place({}, {1, "", ""}));
  CHECK_FALSE(Place({{"a", 0, ""}}, {1, "", ""}));
}

TEST_CASE("Placement: a single rank goes where it leaves least room, ties by id, whatever the order",
          "[scheduler]") {
  CHECK(Place({{"c", 3, ""}, {"b", 2, ""}, {"a", 2, ""}}, {1, "", ""}) == Workers{"a"});
  CHECK(Place({{"a", 2, ""}, {"c", 1, ""}, {"b", 2, ""}}, {1, "", ""}) == Workers{"c"});
}

TEST_CASE("Placement: single ranks leave whole workers to a wide gang", "[scheduler]") {
  std::vector<WorkerRoom> workers = {{"a", 4, ""}, {"b", 4, ""}, {"c", 4, ""}};
  for (int rank = 0; rank < 4; ++rank) {
    const auto at = Place(workers, {1});
    REQUIRE(at);
    Take(at->front(), {}, &workers);
  }
  CHECK(Place(workers, {2, "", "", {4, 0, 0, {}}}) == Workers{"b", "c"});
}

TEST_CASE("Placement: a gang takes the emptiest workers, one rank on each as long as there are any",
          "[scheduler]") {
  CHECK(Place({{"a", 2, ""}, {"c", 1, ""}, {"b", 2, ""}}, {3, "", ""}) == Workers{"a", "b", "c"});
  CHECK(Place({{"a", 1, ""}, {"b", 4, ""}, {"c", 3, ""}}, {2, "", ""}) == Workers{"b", "c"});
  CHECK(Place({{"a", 4, ""}, {"b", 1, ""}}, {4, "", ""}) == Workers{"a", "b", "a", "a"});
}

TEST_CASE("Placement: the ranks of a gang are on workers that can reach each other", "[scheduler]") {
  std::vector<WorkerRoom> workers = {{"a", 4, ""}, {"b", 3, ""}, {"c", 2, ""}, {"d", 1, ""}};
  workers[0].loopback_of = workers[2].loopback_of = "this machine";
  workers[1].loopback_of = "another";
  CHECK(Place(workers, {5}) == Workers{"a", "c", "a", "c", "a"});
  CHECK(Place(workers, {2}) == Workers{"a", "c"});
  CHECK_FALSE(Place(workers, {7}));
  CHECK(CapacityOf(workers, {}) == 6);
  workers[0].free_slots = 0;
  CHECK(Place(workers, {3}) == Workers{"b", "b", "b"});  // the first in order has too few in its reach
  CHECK(Place(workers, {1}) == Workers{"d"});
}

TEST_CASE("Placement: near the checkpoint, then where it ran before", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {{"a", 9, "s1"}, {"b", 1, "s2"}, {"c", 2, "s2"}, {"d", 1, "s1"}};
  CHECK(Place(workers, {1, "s2", ""}) == Workers{"b"});
  CHECK(Place(workers, {1, "s2", "c"}) == Workers{"c"});
  CHECK(Place(workers, {1, "", "a"}) == Workers{"a"});
  CHECK(Place(workers, {1, "gone", "gone"}) == Workers{"b"});
}

TEST_CASE("Placement: a worker that is bound to projects gets ranks of these only", "[scheduler]") {
  std::vector<WorkerRoom> workers = {{"a", 8, ""}, {"b", 8, ""}, {"c", 8, ""}};
  workers[0].projects = {"vision"};
  workers[1].projects = {"", "speech"};
  RankShape vision, speech, common;
  vision.project = "vision";
  speech.project = "speech";
  CHECK(Capacity(workers[0], vision) == 8);
  CHECK(Capacity(workers[0], common) == 0);
  CHECK(Capacity(workers[1], vision) == 0);
  CHECK(Capacity(workers[1], common) == 8);
  CHECK(CapacityOf(workers, speech) == 16);  // c runs all
  CHECK(Place(workers, {2, "", "", vision}) == Workers{"a", "c"});
  CHECK(Place(workers, {2, "", "a", common}) == Workers{"b", "c"});
  workers.pop_back();
  CHECK(Place(workers, {8, "", "", vision}) == Workers(8, "a"));
  CHECK_FALSE(Place(workers, {9, "", "", vision}));
}

TEST_CASE("Placement: labels, processors and memory are asked for by every rank", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {{"a", 8, "", {{"gpu", "a100"}}, 4, 32}, {"b", 8, "", {}, 16, 64}};
  CHECK(Capacity(workers[0], {1, 0, 0, {{"gpu", ""}}}) == 8);
  CHECK(Capacity(workers[0], {2, 1.5, 8, {{"gpu", "a100"}}}) == 2);
  CHECK(Capacity(workers[0], {1, 0, 33, {}}) == 0);
  CHECK(Capacity(workers[1], {1, 0, 0, {{"gpu", ""}}}) == 0);
  CHECK(CapacityOf(workers, {1, 0.1, 0, {}}) == 16);
  CHECK(Place(workers, {2, "", "", {1, 4, 0, {}}}) == Workers{"b", "a"});
}

TEST_CASE("Placement: labels that were not asked for are left to those who ask", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {{"a", 1, "", {{"gpu", ""}}}, {"b", 9, ""}};
  CHECK(Place(workers, {1}) == Workers{"b"});
  CHECK(Place(workers, {1, "", "", {1, 0, 0, {{"gpu", ""}}}}) == Workers{"a"});
}

TEST_CASE("Placement: whatever the cluster, all ranks or none, never over a worker's room", "[scheduler]") {
  int placed = 0;
  for (uint64_t seed = 1; seed <= 2000; ++seed) {
    int64_t drawn = 0;
    const auto draw = [&](int64_t below) {
      return static_cast<int64_t>(RandomBits(seed, ++drawn, Purpose::kSimulation, 0) % below);
    };
    std::vector<WorkerRoom> workers;
    for (int64_t w = draw(10); w > 0; --w) {
      WorkerRoom room{std::to_string(w), static_cast<int32_t>(draw(6)), std::to_string(draw(2))};
      if (draw(2) == 0) room.free_cpus = 0.5 * static_cast<double>(draw(9));
      if (draw(2) == 0) room.free_memory_gib = static_cast<double>(draw(9));
      if (draw(2) == 0) room.labels = {{"zone", std::to_string(draw(2))}};
      workers.push_back(room);
    }
    GangRequest gang{static_cast<int32_t>(1 + draw(8)), std::to_string(draw(3)), std::to_string(draw(4)), {}};
    gang.shape = {static_cast<int32_t>(1 + draw(3)),
                  0.5 * static_cast<double>(draw(3)),
                  static_cast<double>(draw(3)),
                  {}};
    if (draw(3) == 0) gang.shape.labels = {{"zone", draw(2) == 0 ? "" : "1"}};
    const auto ranks = Place(workers, gang);
    CAPTURE(seed);
    REQUIRE(ranks.has_value() == (CapacityOf(workers, gang.shape) >= gang.nodes));
    std::reverse(workers.begin(), workers.end());
    REQUIRE(Place(workers, gang) == ranks);
    if (!ranks) continue;
    ++placed;
    REQUIRE(static_cast<int32_t>(ranks->size()) == gang.nodes);
    for (const std::string& rank : *ranks) Take(rank, gang.shape, &workers);
    for (const WorkerRoom& worker : workers) {
      const bool used = std::find(ranks->begin(), ranks->end(), worker.worker_id) != ranks->end();
      REQUIRE((worker.free_slots >= 0 && worker.free_cpus >= -1e-9 && worker.free_memory_gib >= -1e-9));
      REQUIRE((!used || HasLabels(worker, gang.shape)));
    }
  }
  CHECK(placed > 500);
}

RankShape WholeGpus(int32_t gpus) {
  RankShape shape;
  shape.gpus = gpus;
  return shape;
}

RankShape PartOfGpu(double share) {
  RankShape shape;
  shape.gpu_share = share;
  return shape;
}

WorkerRoom RoomWithGpus(const std::string& id, int32_t slots, int gpus) {
  WorkerRoom room{id, slots, ""};
  for (int i = 0; i < gpus; ++i) room.gpus.push_back({std::to_string(i)});
  return room;
}

TEST_CASE("Placement: a rank gets GPUs that no other rank has", "[scheduler]") {
  std::vector<WorkerRoom> workers = {RoomWithGpus("a", 8, 4)};
  CHECK(Capacity(workers[0], WholeGpus(1)) == 4);
  CHECK(Capacity(workers[0], WholeGpus(3)) == 1);
  CHECK(Capacity(workers[0], WholeGpus(5)) == 0);
  CHECK(Take("a", WholeGpus(1), &workers) == Workers{"0"});
  CHECK(Take("a", WholeGpus(2), &workers) == Workers{"1", "2"});
  CHECK(Capacity(workers[0], WholeGpus(2)) == 0);
  CHECK(Take("a", WholeGpus(1), &workers) == Workers{"3"});
  CHECK(Take("a", {}, &workers).empty());
  CHECK(Capacity(workers[0], {}) == 4);
}

TEST_CASE("Placement: parts of a GPU fill it before another is begun, and are never on a whole one",
          "[scheduler]") {
  std::vector<WorkerRoom> workers = {RoomWithGpus("a", 16, 3)};
  CHECK(Take("a", PartOfGpu(0.5), &workers) == Workers{"0"});
  CHECK(Take("a", WholeGpus(1), &workers) == Workers{"1"});
  CHECK(Take("a", PartOfGpu(0.3), &workers) == Workers{"0"});
  CHECK(Capacity(workers[0], PartOfGpu(0.2)) == 6);
  CHECK(Take("a", PartOfGpu(0.25), &workers) == Workers{"2"});
  CHECK(Take("a", PartOfGpu(0.2), &workers) == Workers{"0"});
  CHECK(Capacity(workers[0], PartOfGpu(0.25)) == 3);
  CHECK(Capacity(workers[0], WholeGpus(1)) == 0);
  // Ten tenths are one.
  std::vector<WorkerRoom> one = {RoomWithGpus("b", 16, 1)};
  CHECK(Capacity(one[0], PartOfGpu(0.1)) == 10);
  for (int i = 0; i < 9; ++i) Take("b", PartOfGpu(0.1), &one);
  CHECK(Capacity(one[0], PartOfGpu(0.1)) == 1);
}

TEST_CASE("Placement: a gang that needs GPUs goes where they are, all ranks or none", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {RoomWithGpus("a", 8, 2), RoomWithGpus("b", 8, 0),
                                           RoomWithGpus("c", 8, 5)};
  CHECK(Place(workers, {3, "", "", WholeGpus(2)}) == Workers{"c", "a", "c"});
  CHECK_FALSE(Place(workers, {4, "", "", WholeGpus(2)}));
  CHECK(Place(workers, {1, "", "", WholeGpus(1)}) == Workers{"a"});  // so that more together stay free
  CHECK(CapacityOf(workers, PartOfGpu(0.5)) == 12);
}

TEST_CASE("Placement: whatever asks for GPUs, none is given beyond what it has", "[scheduler]") {
  int64_t given = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    int64_t drawn = 0;
    const auto draw = [&](int64_t below) {
      return static_cast<int64_t>(RandomBits(seed, ++drawn, Purpose::kSimulation, 1) % below);
    };
    std::vector<WorkerRoom> workers;
    for (int64_t w = 1 + draw(3); w > 0; --w)
      workers.push_back(RoomWithGpus(std::to_string(w), 12, static_cast<int>(draw(5))));
    std::map<std::pair<std::string, std::string>, std::vector<double>> parts;  // worker, device
    for (int i = 0; i < 20; ++i) {
      const GangRequest gang{static_cast<int32_t>(1 + draw(3)), "", "",
                             draw(2) == 0 ? WholeGpus(static_cast<int32_t>(1 + draw(3)))
                                          : PartOfGpu(0.05 * static_cast<double>(1 + draw(19)))};
      const auto ranks = Place(workers, gang);
      if (!ranks) continue;
      for (const std::string& rank : *ranks) {
        const std::vector<std::string> gpus = Take(rank, gang.shape, &workers);
        REQUIRE(std::set<std::string>(gpus.begin(), gpus.end()).size() ==
                static_cast<size_t>(std::max(1, gang.shape.gpus)));
        for (const std::string& gpu : gpus)
          parts[{rank, gpu}].push_back(gang.shape.gpus > 0 ? 1 : gang.shape.gpu_share);
      }
    }
    CAPTURE(seed);
    for (const auto& [gpu, shares] : parts) {
      double sum = 0;
      for (const double share : shares) sum += share;
      REQUIRE(sum <= 1 + 1e-6);
      given += static_cast<int64_t>(shares.size());
    }
  }
  CHECK(given > 1000);
}

// A worker of one slot that leaves at `ends_us` after a life of 100 s.
WorkerRoom LeavesAt(const std::string& id, int64_t ends_us) {
  WorkerRoom room{id, 1, ""};
  room.ends_us = ends_us;
  room.life_us = 100'000'000;
  return room;
}

TEST_CASE("Placement: a part that is not expected to end in time starts elsewhere, or not yet",
          "[scheduler]") {
  GangRequest gang;
  gang.start_us = 1'000'000'000;
  gang.takes_us = 30'000'000;
  const WorkerRoom early = LeavesAt("a", 1'029'999'999), just = LeavesAt("b", 1'030'000'000);
  CHECK_FALSE(Place({early}, gang));
  CHECK(Place({early, just}, gang) == Workers{"b"});
  CHECK(Place({early, {"c", 1, ""}}, gang) == Workers{"c"});  // of which no end is known
  gang.nodes = 2;
  CHECK_FALSE(Place({early, just}, gang));
  CHECK(Reserve({early, just}, {early, just, {"c", 1, ""}}, gang, {}) == Reservation{"b", "c"});
}

TEST_CASE("Placement: how long a part takes is no obstacle if it is not known, or nearly a whole life",
          "[scheduler]") {
  GangRequest gang;
  gang.start_us = 1'000'000'000;
  CHECK(Place({LeavesAt("a", 1'000'000'001)}, gang) == Workers{"a"});
  gang.takes_us = 90'000'001;
  CHECK(Place({LeavesAt("a", 1'000'000'001)}, gang) == Workers{"a"});
  gang.takes_us = 90'000'000;
  CHECK_FALSE(Place({LeavesAt("a", 1'000'000'001)}, gang));
}

TEST_CASE("Placement: a gang that names pools runs on workers of these alone", "[scheduler]") {
  const std::vector<WorkerRoom> workers = {
      {"a", 1, "", {}}, {"b", 1, "", {{"pool", "big"}}}, {"c", 1, "", {{"pool", "cpu"}}}};
  GangRequest gang;
  CHECK(Place(workers, gang) == Workers{"a"});
  gang.shape.pools = {"cpu", "gpu"};
  CHECK(Place(workers, gang) == Workers{"c"});
  gang.shape.pools = {"cpu", "big"};
  gang.nodes = 2;
  CHECK(Place(workers, gang) == Workers{"b", "c"});
  gang.nodes = 3;
  CHECK_FALSE(Place(workers, gang));
}

}  // namespace
}  // namespace winnow
