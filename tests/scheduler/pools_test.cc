#include "scheduler/pools.h"

#include <catch2/catch.hpp>

namespace winnow {
namespace {

constexpr int64_t kNow = 1'000'000'000'000;
constexpr int64_t kSecond = 1'000'000;
using Submitted = std::vector<PoolsPlan::Submission>;

PoolLimits PoolOf(const std::string& name, int32_t slots, int32_t max_nodes) {
  PoolLimits pool;
  pool.name = name;
  pool.node.free_slots = slots;
  pool.node.labels = {{kPoolLabel, name}};
  pool.max_nodes = max_nodes;
  pool.max_queued = 10;
  pool.idle_us = 60 * kSecond;
  pool.start_us = 300 * kSecond;
  return pool;
}

GangDemand Wait(int32_t nodes, int64_t count, int32_t slots = 1) {
  GangDemand demand;
  demand.gang.nodes = nodes;
  demand.gang.shape.slots = slots;
  demand.count = count;
  return demand;
}

// An allocation with workers of so many slots that have been idle for so long; they are added too.
void AddRunning(PoolsInput& input, int64_t number, int32_t nodes, int32_t slots, int64_t idle_seconds) {
  PoolAllocation allocation;
  allocation.number = number;
  allocation.pool = "a";
  allocation.nodes = allocation.joined = allocation.workers = nodes;
  allocation.state = PoolAllocationState::kRunning;
  if (idle_seconds >= 0) allocation.idle_since_us = kNow - idle_seconds * kSecond;
  input.allocations.push_back(allocation);
  for (int32_t node = 0; node < nodes; ++node) {
    PoolWorker worker;
    worker.whole.worker_id = std::to_string(number) + "." + std::to_string(node);
    worker.whole.free_slots = slots;
    worker.whole.labels = {{kPoolLabel, "a"}};
    worker.free = worker.whole;
    if (idle_seconds < 0) worker.free.free_slots = 0;
    worker.allocation = number;
    input.workers.push_back(worker);
  }
}

void AddQueued(PoolsInput& input, int64_t number, int32_t nodes) {
  PoolAllocation allocation;
  allocation.number = number;
  allocation.pool = "a";
  allocation.nodes = nodes;
  input.allocations.push_back(allocation);
}

}  // namespace

TEST_CASE("PlanPools: asks for what waits, less what is free or on its way", "[scheduler]") {
  struct Case {
    const char* what;
    std::vector<GangDemand> demand;
    int32_t queued_nodes, idle_workers;
    Submitted expected;
  };
  const Case cases[] = {
      {"nothing waits", {}, 0, 0, {}},
      {"single ranks share nodes of two slots", {Wait(1, 3)}, 0, 0, {{"a", 1}, {"a", 1}}},
      {"what is queued counts", {Wait(1, 3)}, 1, 0, {{"a", 1}}},
      {"what is free counts", {Wait(1, 3)}, 0, 1, {{"a", 1}}},
      {"a gang gets its nodes at once", {Wait(3, 1)}, 0, 0, {{"a", 3}}},
      {"a gang that would have too many nodes shares them", {Wait(8, 1)}, 0, 0, {{"a", 4}}},
      {"a rank that no node could hold", {Wait(1, 1, 3)}, 0, 0, {}},
      {"more than the maximum", {Wait(1, 100)}, 0, 0, {{"a", 1}, {"a", 1}, {"a", 1}, {"a", 1}}}};
  for (const Case& each : cases) {
    INFO(each.what);
    PoolsInput input;
    input.pools = {PoolOf("a", 2, 4)};
    input.demand = each.demand;
    if (each.queued_nodes > 0) AddQueued(input, 1, each.queued_nodes);
    if (each.idle_workers > 0) AddRunning(input, 2, each.idle_workers, 2, 0);
    CHECK(PlanPools(input, kNow).submit == each.expected);
  }
}

TEST_CASE("PlanPools: a pool that has no more nodes says so", "[scheduler]") {
  for (const auto& [nodes, says] : {std::pair(1, "Its one node is in use."),
                                    std::pair(2, "All of its 2 nodes are in use.")}) {
    PoolsInput input;
    input.pools = {PoolOf("a", 1, nodes)};
    AddRunning(input, 1, nodes, 1, -1);
    input.demand = {Wait(1, 3)};
    CHECK(PlanPools(input, kNow).waits == std::vector<std::string>{says});
  }
}

TEST_CASE("PlanPools: the cheapest pool that fits, and only those that the job names", "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("dear", 4, 4), PoolOf("cheap", 1, 4)};
  input.pools[0].cost_per_node_hour = 3;
  input.pools[1].cost_per_node_hour = 1;
  input.demand = {Wait(1, 1)};
  CHECK(PlanPools(input, kNow).submit == Submitted{{"cheap", 1}});
  input.demand = {Wait(1, 1, 2)};  // more slots than the cheap one's nodes have
  CHECK(PlanPools(input, kNow).submit == Submitted{{"dear", 1}});
  input.demand = {Wait(1, 1)};
  input.demand[0].gang.shape.labels[kPoolLabel] = "dear";
  CHECK(PlanPools(input, kNow).submit == Submitted{{"dear", 1}});
}

TEST_CASE("PlanPools: a pool that brings no workers pauses, says why, and then tries once", "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 4)};
  input.demand = {Wait(1, 3)};
  input.pools[0].failures = input.pools[0].failed_tries = kPoolFailures;
  input.pools[0].failed_at_us = kNow - 10 * kSecond;
  input.pools[0].failure = "BadConstraints.";
  PoolsPlan plan = PlanPools(input, kNow);
  CHECK(plan.submit.empty());
  CHECK(plan.waits[0] ==
        "It pauses for 290 s, because 3 allocations in a row brought no worker. The newest: BadConstraints.");
  input.pools[0].failed_at_us = kNow - kFirstPoolPauseUs;
  CHECK(PlanPools(input, kNow).submit == Submitted{{"a", 1}});
  input.pools[0].failures = 20;  // at the same time
  CHECK(PlanPools(input, kNow).submit == Submitted{{"a", 1}});
  input.pools[0].failed_tries = kPoolFailures + 1;  // twice as long
  CHECK(PlanPools(input, kNow).submit.empty());
}

TEST_CASE("PlanPools: idle nodes go after the time, but not below the minimum or while a gang waits",
          "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 4)};
  AddRunning(input, 1, 1, 1, 59);
  AddRunning(input, 2, 1, 1, 60);
  AddRunning(input, 3, 1, 1, -1);
  const PoolsPlan plan = PlanPools(input, kNow);
  REQUIRE(plan.cancel.size() == 1);
  CHECK(plan.cancel[0] == PoolsPlan::Cancellation{2, "Idle for 60 s.", false});
  input.pools[0].min_nodes = 3;
  CHECK(PlanPools(input, kNow).cancel.empty());
  input.pools[0].min_nodes = 0;
  input.demand = {Wait(3, 1)};  // the two idle ones and the busy one, once that is free
  CHECK(PlanPools(input, kNow).cancel.empty());
}

TEST_CASE("PlanPools: what runs without workers, and what nobody waits for, is given back", "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 4)};
  AddQueued(input, 1, 1);
  AddQueued(input, 2, 1);
  input.allocations[0].unneeded_since_us = kNow - 60 * kSecond;
  input.allocations[1].state = PoolAllocationState::kRunning;
  input.allocations[1].short_since_us = kNow - 300 * kSecond;
  const PoolsPlan plan = PlanPools(input, kNow);
  CHECK(plan.cancel == std::vector<PoolsPlan::Cancellation>{{1, "Nothing waits for it any more.", false},
                                                            {2, "No worker has joined within 300 s.", true}});
}

TEST_CASE("PlanPools: nothing beyond max_queued, before the engine said, or that cannot be paid",
          "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 4)};
  input.demand = {Wait(1, 4)};
  input.pools[0].max_queued = 2;
  CHECK(PlanPools(input, kNow).submit.size() == 2);
  input.pools[0].cost_per_node_hour = 60;
  input.demand[0].money = 1.5;  // a minute of one node costs 1
  CHECK(PlanPools(input, kNow).submit.size() == 1);
  input.demand[0].money = -1;
  input.pools[0].not_before_us = kNow + 3 * kSecond;
  input.pools[0].refusal = "QOSMaxSubmitJobPerUserLimit";
  const PoolsPlan plan = PlanPools(input, kNow);
  CHECK(plan.submit.empty());
  CHECK(plan.waits[0] == "Its engine is asked again in 3 s. It said: QOSMaxSubmitJobPerUserLimit");
}

TEST_CASE("PlanPools: while an engine's limit is reached, idle nodes go that are too few for a gang",
          "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 3)};
  AddRunning(input, 1, 1, 1, 60);
  input.demand = {Wait(3, 1)};
  CHECK(PlanPools(input, kNow).cancel.empty());
  input.pools[0].not_before_us = kNow + 30 * kSecond;
  CHECK(PlanPools(input, kNow).cancel == std::vector<PoolsPlan::Cancellation>{{1, "Idle for 60 s.", false}});
  // A gang gets its nodes at once, when the others are gone.
  input.pools[0].not_before_us = 0;
  input.allocations[0].cancelled = true;
  input.workers.clear();
  const PoolsPlan plan = PlanPools(input, kNow);
  CHECK(plan.submit.empty());
  CHECK(plan.waits[0] == "It is asked for 3 nodes once others are given back.");
  input.allocations.clear();
  CHECK(PlanPools(input, kNow).submit == Submitted{{"a", 3}});
}

TEST_CASE("PlanPools: workers that leave too soon for a gang go all at once, when all are idle",
          "[scheduler]") {
  PoolsInput input;
  input.pools = {PoolOf("a", 1, 2)};
  input.pools[0].min_nodes = 2;
  AddRunning(input, 1, 1, 1, 60);
  AddRunning(input, 2, 1, 1, 5);
  for (PoolWorker& worker : input.workers) {
    worker.whole.life_us = 100 * kSecond;
    worker.whole.ends_us = kNow + (worker.allocation == 1 ? 10 : 95) * kSecond;
    worker.free = worker.whole;
  }
  input.demand = {Wait(2, 1)};
  input.demand[0].gang.start_us = kNow;
  input.demand[0].gang.takes_us = 50 * kSecond;
  const PoolsPlan plan = PlanPools(input, kNow);
  REQUIRE(plan.cancel.size() == 2);
  CHECK(plan.cancel[1].reason == "Idle for 5 s, and some leave too soon for a trial that waits.");
  input.allocations[1].idle_since_us = 0;  // it holds something
  CHECK(PlanPools(input, kNow).cancel.empty());
}

}  // namespace winnow
