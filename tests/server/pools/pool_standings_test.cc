#include "server/pools/pool_standings.h"

#include <prometheus/text_serializer.h>

#include "tests/catch.h"

namespace winnow {
namespace {

PoolStandings::Entry PoolNamed(const std::string& name, int32_t slots) {
  PoolStandings::Entry entry;
  entry.node.free_slots = slots;
  entry.node.labels = {{kPoolLabel, name}};
  entry.pool.set_name(name);
  entry.pool.set_queued_nodes(2);
  entry.pool.set_cost(12.5);
  return entry;
}

void AddAllocation(PoolStandings::Entry& entry, v1::Allocation::State state, const std::string& reason) {
  v1::Allocation& allocation = *entry.pool.add_allocations();
  allocation.set_name("w-1");
  allocation.set_state(state);
  allocation.set_reason(reason);
}

TEST_CASE("Pool words: what the engine says of an allocation that waits", "[server]") {
  PoolStandings::Entry entry = PoolNamed("cpu", 1);
  CHECK(PoolWords(entry.pool) == "");
  AddAllocation(entry, v1::Allocation::RUNNING, "");
  CHECK(PoolWords(entry.pool) == "");
  AddAllocation(entry, v1::Allocation::QUEUED, "PENDING: Resources");
  CHECK(PoolWords(entry.pool) == "w-1 waits at the engine: PENDING: Resources.");
  entry.pool.set_state_reason("All of its 2 nodes are in use.");
  CHECK(PoolWords(entry.pool) ==
        "All of its 2 nodes are in use. w-1 waits at the engine: PENDING: Resources.");
  entry.pool.clear_allocations();
  entry.pool.set_state_reason("Its engine is asked again in 3 s. It said: QOSMaxSubmitJobPerUserLimit");
  CHECK(PoolWords(entry.pool) == "Its engine is asked again in 3 s. It said: QOSMaxSubmitJobPerUserLimit.");
}

TEST_CASE("Pool words: why an allocation that has its nodes lacks workers", "[server]") {
  PoolStandings::Entry entry = PoolNamed("pods", 1);
  AddAllocation(entry, v1::Allocation::RUNNING,
                "pod p on node n cannot start: image pull error, ErrImagePull");
  v1::Allocation& allocation = *entry.pool.mutable_allocations(0);
  allocation.set_nodes(2);
  allocation.set_workers(1);
  CHECK(PoolWords(entry.pool) ==
        "w-1 lacks workers: pod p on node n cannot start: image pull error, ErrImagePull.");
  allocation.set_workers(2);
  CHECK(PoolWords(entry.pool) == "");
  allocation.set_workers(0);
  allocation.set_reason("to end: Idle for 300 s.");
  CHECK(PoolWords(entry.pool) == "");
}

TEST_CASE("Pool words: why the newest allocation has ended, unless the server gave it back", "[server]") {
  PoolStandings::Entry entry = PoolNamed("cpu", 1);
  AddAllocation(entry, v1::Allocation::ENDED, "PREEMPTED.");
  CHECK(PoolWords(entry.pool) == "w-1 has ended: PREEMPTED.");
  entry.pool.clear_allocations();
  AddAllocation(entry, v1::Allocation::ENDED, "Idle for 300 s.");
  CHECK(PoolWords(entry.pool) == "");
}

TEST_CASE("Pool standings: a job hears of the pools that could hold its ranks", "[server]") {
  PoolStandings standings;
  PoolStandings::Entry small = PoolNamed("small", 1), big = PoolNamed("big", 8);
  small.pool.set_state_reason("It pauses.");
  big.pool.set_state_reason("All of its 2 nodes are in use.");
  standings.Put({small, big});
  RankShape shape;
  CHECK(standings.WordsFor(shape) == "Pool small: It pauses. Pool big: All of its 2 nodes are in use.");
  shape.slots = 4;
  CHECK(standings.WordsFor(shape) == "Pool big: All of its 2 nodes are in use.");
  shape.pools = {"small"};
  CHECK(standings.WordsFor(shape) == "");
}

TEST_CASE("Pool standings: metrics by pool, with what the engine says", "[server]") {
  PoolStandings standings;
  PoolStandings::Entry entry = PoolNamed("cpu", 1);
  AddAllocation(entry, v1::Allocation::QUEUED, "PENDING: Resources");
  standings.Put({entry});
  const std::string text = prometheus::TextSerializer().Serialize(standings.Metrics());
  CHECK_THAT(text, Catch::Contains("winnow_pool_nodes{pool=\"cpu\",state=\"queued\"} 2"));
  CHECK_THAT(text, Catch::Contains("winnow_pool_cost_total{pool=\"cpu\"} 12.5"));
  CHECK_THAT(
      text,
      Catch::Contains(
          "winnow_pool_reason{pool=\"cpu\",reason=\"w-1 waits at the engine: PENDING: Resources.\"} 1"));
}

}  // namespace
}  // namespace winnow
