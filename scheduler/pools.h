#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/placement.h"

namespace winnow {

// What a pool may have, and what it has been like.
struct PoolLimits {
  std::string name;
  WorkerRoom node;  // what the worker on one node offers; of a real one, once there was one
  int32_t min_nodes = 0;
  int32_t max_nodes = 1;
  int32_t max_queued = 1;  // allocations that wait at the engine
  int64_t idle_us = 0;     // after which idle workers go
  int64_t start_us = 0;    // after which the nodes of a running allocation have workers, or it is useless
  double cost_per_node_hour = 0;
  // Allocations in a row, the newest ones, that ended without a worker having joined, and when the newest of
  // these ended. Of those that the engine had at the same time only one is a failed try.
  int32_t failures = 0;
  int32_t failed_tries = 0;
  int64_t failed_at_us = 0;
  std::string failure;  // its reason
  std::string refusal;  // what the engine said when it took nothing
  // The engine refused the newest submission because of a limit: nothing is submitted earlier; 0: it took it.
  int64_t not_before_us = 0;
};

enum class PoolAllocationState {
  kQueued,
  kRunning
};  // queued: also one that the engine has not confirmed yet

// An allocation that has not ended.
struct PoolAllocation {
  int64_t number = 0;
  std::string pool;
  int32_t nodes = 1;
  PoolAllocationState state = PoolAllocationState::kQueued;
  bool cancelled = false;         // it was asked to end
  int32_t joined = 0;             // its nodes that have had a worker
  int32_t workers = 0;            // its nodes that have one now
  int64_t idle_since_us = 0;      // since when these hold nothing; 0: they hold something, or there is none
  int64_t short_since_us = 0;     // since when it runs with fewer workers than nodes; 0: it does not
  int64_t unneeded_since_us = 0;  // since when PlanPools finds it `unneeded`; 0: it did not the last time
};

// A worker that is present and gets trials.
struct PoolWorker {
  WorkerRoom free;
  WorkerRoom whole;        // if it held nothing
  int64_t allocation = 0;  // 0: it is of no pool
};

// Gangs of one job that wait and would start if there was room.
struct GangDemand {
  GangRequest gang;
  int64_t count = 1;
  double money = -1;  // what its job may still spend; below 0: any amount
};

struct PoolsInput {
  std::vector<PoolLimits> pools;
  std::vector<PoolAllocation> allocations;
  std::vector<PoolWorker> workers;
  std::vector<GangDemand> demand;  // whoever is served first comes first
};

struct PoolsPlan {
  struct Submission {
    std::string pool;
    int32_t nodes = 1;
    bool operator==(const Submission&) const = default;
  };
  struct Cancellation {
    int64_t number = 0;
    std::string reason;
    bool failed = false;  // it counts as one that brought no worker, if it brought none
    bool operator==(const Cancellation&) const = default;
  };
  std::vector<Submission> submit;
  std::vector<Cancellation> cancel;
  std::vector<int64_t> unneeded;  // numbers of queued allocations that nobody waits for
  // Why a pool gets no allocation although gangs wait that it could hold, in a sentence; in the order of the
  // pools,
  // "": there is no reason, or nothing waits.
  std::vector<std::string> waits;
};

// Allocations in a row without a worker after which a pool pauses.
inline constexpr int32_t kPoolFailures = 3;
// The first pause; each further failed try doubles it, up to the longest. One allocation ends it, if it
// brings a worker.
inline constexpr int64_t kFirstPoolPauseUs = 300'000'000;
inline constexpr int64_t kLongestPoolPauseUs = 3'600'000'000;
// A queued allocation that nobody needs any more is cancelled after this, or after the pool's idle time if
// that is less.
inline constexpr int64_t kUnneededUs = 60'000'000;
// A job gets an allocation only if it can pay for this much of it.
inline constexpr double kPaidHours = 1.0 / 60;

// When a pool's pause after its failures ends; 0: it does not pause.
int64_t PoolPausedUntil(const PoolLimits& pool);

// What to ask of the engines, and what to give back.
//
// Gangs are served in their order, each from what free workers have, and then from what the nodes of
// allocations that are on their way will have. For one that finds no room there, nodes are asked for: as many
// as it has ranks, in one allocation, so that they come together; fewer if only then the pool's maximum
// allows it (several ranks then share a node, or take the nodes of others when those are free). The cheapest
// pool comes first whose nodes can hold its ranks; among equals the first. Nothing is submitted beyond a
// pool's max_nodes and max_queued, for a job whose money would not pay for it, and while the pool pauses or
// was refused.
//
// An allocation goes when all its workers have been idle for the pool's idle time and no waiting gang could
// use them, or the engine's limit keeps those away that the gang lacks; a queued one when nobody needs it any
// more; neither below min_nodes. All of a pool's go at once if they are idle and some leave too soon for a
// gang that waits for them. One that runs for too long without workers on all its nodes goes when it holds
// nothing.
PoolsPlan PlanPools(const PoolsInput& input, int64_t now_us);

}  // namespace winnow
