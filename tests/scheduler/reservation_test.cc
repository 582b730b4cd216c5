#include "scheduler/reservation.h"

#include <algorithm>
#include <map>

#include "scheduler/space/random.h"
#include "tests/catch.h"

namespace winnow {
namespace {

std::vector<WorkerRoom> Rooms(const std::vector<std::pair<std::string, int32_t>>& slots) {
  std::vector<WorkerRoom> rooms;
  for (const auto& [id, free] : slots) rooms.push_back({id, free, ""});
  return rooms;
}

TEST_CASE("Reservation: the workers of which fewest ranks are occupied", "[scheduler]") {
  const auto whole = Rooms({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}});
  CHECK(Reserve(Rooms({{"b", 1}, {"c", 2}}), whole, {4}, {}) == Reservation{"b", "c"});
  CHECK(Reserve(Rooms({{"d", 1}}), whole, {5}, {}) == Reservation{"a", "b", "d"});
  CHECK(Reserve({}, whole, {9}, {}).empty());
}

TEST_CASE("Reservation: stays until another set lacks fewer ranks, or it cannot hold the gang",
          "[scheduler]") {
  const auto whole = Rooms({{"a", 2}, {"b", 2}, {"c", 2}});
  const Reservation kept = {"b", "c"};
  CHECK(Reserve(Rooms({{"a", 1}, {"b", 1}}), whole, {4}, {}) == Reservation{"a", "b"});
  CHECK(Reserve(Rooms({{"a", 1}, {"b", 1}, {"c", 1}}), whole, {4}, kept) == kept);
  CHECK(Reserve(Rooms({{"a", 1}, {"b", 1}}), whole, {4}, kept) == Reservation{"a", "b"});
  CHECK(Reserve({}, Rooms({{"a", 2}, {"b", 2}}), {4}, kept) == Reservation{"a", "b"});
}

TEST_CASE("Reservation: only workers that could hold a rank of that shape", "[scheduler]") {
  std::vector<WorkerRoom> whole = Rooms({{"a", 8}, {"b", 2}, {"c", 4}});
  whole[2].labels = {{"gpu", "a100"}};
  GangRequest gang{1, "", "", {4, 0, 0, {{"gpu", ""}}}};
  CHECK(Reserve({}, whole, gang, {}) == Reservation{"c"});
  gang.nodes = 2;
  CHECK(Reserve({}, whole, gang, {}).empty());
}

TEST_CASE("Reservation: workers that can reach each other, of those the ones that lack fewest ranks",
          "[scheduler]") {
  std::vector<WorkerRoom> whole = Rooms({{"a", 2}, {"b", 2}, {"c", 2}, {"d", 2}});
  whole[0].loopback_of = whole[3].loopback_of = "this machine";
  CHECK(Reserve(Rooms({{"a", 2}, {"b", 1}}), whole, {4}, {}) == Reservation{"a", "d"});
  CHECK(Reserve(Rooms({{"a", 2}, {"b", 2}, {"c", 1}}), whole, {4}, {}) == Reservation{"b", "c"});
  CHECK(Reserve(whole, whole, {5}, {}).empty());
}

// A cluster on which single ranks come without end, each for a while, and one gang waits.
class Crowd {
 public:
  explicit Crowd(uint64_t seed) : seed_(seed) {
    const int64_t workers = 1 + Draw(8);
    for (int64_t w = 0; w < workers; ++w) {
      WorkerRoom room{"w" + std::to_string(w), static_cast<int32_t>(1 + Draw(4)), ""};
      if (Draw(2) == 0) room.free_memory_gib = static_cast<double>(1 + Draw(8));
      if (Draw(4) == 0) room.loopback_of = Draw(2) == 0 ? "one" : "other";
      if (Draw(3) > 0) room.labels = {{"zone", Draw(2) == 0 ? "a" : "b"}};
      whole_.push_back(room);
    }
    free_ = whole_;
    Fill({});
  }

  int64_t Draw(int64_t below) {
    return static_cast<int64_t>(RandomBits(seed_, ++drawn_, Purpose::kSimulation, 0) % below);
  }

  RankShape Shape() {
    RankShape shape{
        static_cast<int32_t>(1 + Draw(2)), 0, Draw(2) == 0 ? 0.0 : static_cast<double>(1 + Draw(2)), {}};
    if (Draw(3) == 0) shape.labels = {{"zone", Draw(2) == 0 ? "a" : ""}};
    return shape;
  }

  // Starts single ranks wherever they fit outside the reservation.
  void Fill(const Reservation& reserved) {
    while (true) {
      const GangRequest one{1, "", "", {1, 0, 0, {}}};
      const auto at = Place(Unreserved(free_, reserved), one);
      if (!at) return;
      Take(at->front(), one.shape, &free_);
      running_.push_back({at->front(), static_cast<int>(1 + Draw(5))});
    }
  }

  // Time passes; ranks that are done give their room back.
  void Tick() {
    for (auto& rank : running_) --rank.second;
    for (const auto& [worker, left] : running_) {
      for (WorkerRoom& room : free_) {
        if (left == 0 && room.worker_id == worker) ++room.free_slots;
      }
    }
    std::erase_if(running_, [](const auto& rank) { return rank.second == 0; });
  }

  const std::vector<WorkerRoom>& whole() const { return whole_; }
  const std::vector<WorkerRoom>& free() const { return free_; }

 private:
  const uint64_t seed_;
  int64_t drawn_ = 0;
  std::vector<WorkerRoom> whole_, free_;
  std::vector<std::pair<std::string, int>> running_;  // worker, ticks to go
};

TEST_CASE("Reservation: a gang among single ranks without end is placed, whatever the cluster",
          "[scheduler]") {
  int waited = 0;
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    Crowd crowd(seed);
    GangRequest gang{1, "", "", crowd.Shape()};
    const int64_t most = CapacityOf(crowd.whole(), gang.shape);
    if (most == 0) continue;
    gang.nodes = static_cast<int32_t>(1 + crowd.Draw(most));
    Reservation kept;
    int ticks = 0;
    // Ranks run 5 ticks at most; each of the gang's is waited for at most once.
    for (; !Place(crowd.free(), gang) && ticks <= 5 * (gang.nodes + 1); ++ticks) {
      kept = Reserve(crowd.free(), crowd.whole(), gang, kept);
      REQUIRE_FALSE(kept.empty());
      crowd.Tick();
      if (!Place(crowd.free(), gang)) crowd.Fill(Reserve(crowd.free(), crowd.whole(), gang, kept));
    }
    INFO("seed " << seed << ", " << gang.nodes << " ranks");
    CHECK(Place(crowd.free(), gang));
    waited += ticks > 0 ? 1 : 0;
  }
  CHECK(waited > 200);  // else it would prove little
}

TEST_CASE("Reservation: ranks without GPUs fill what a gang that waits for GPUs does not need",
          "[scheduler]") {
  std::vector<WorkerRoom> whole = {{"a", 8, "", {}, 16}, {"b", 4, ""}, {"c", 2, ""}};
  for (WorkerRoom& room : whole) room.gpus = {{"0"}, {"1"}};
  std::vector<WorkerRoom> free = whole;
  for (WorkerRoom& room : free) room.gpus = {};
  free[1].free_slots = 2;
  GangRequest gang{3, "", "", {2, 1.5, 0, {}, 1}};
  const std::vector<WorkerRoom> left = BesideGpuGang(free, whole, {"a", "b"}, gang);
  REQUIRE(left.size() == 2);
  CHECK(left[0].free_slots == 4);  // two ranks have GPUs there
  CHECK(left[0].free_cpus == 13);
  CHECK(left[1].worker_id == "c");  // not reserved
  CHECK(left[1].free_slots == 2);
}

}  // namespace
}  // namespace winnow
