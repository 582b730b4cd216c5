#include "scheduler/pools.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/mutant.h"

namespace winnow {

int64_t PoolPausedUntil(const PoolLimits& pool) {
  if (pool.failures < kPoolFailures) return 0;
  const int32_t doublings = std::clamp(pool.failed_tries - kPoolFailures, 0, 10);
  return pool.failed_at_us + std::min(kLongestPoolPauseUs, kFirstPoolPauseUs << doublings);
}

namespace {

std::string NodesText(int64_t nodes) { return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

std::string SecondsText(int64_t us) { return std::to_string(us / 1'000'000) + " s"; }

// A pool while the plan is made.
struct PoolCount {
  const PoolLimits* limits = nullptr;
  int32_t nodes = 0;     // of allocations that have not ended, asked to end or not
  int32_t kept = 0;      // of those that were not asked to end
  int32_t asked = 0;     // of these, asked for by this plan: the engine may refuse them
  int32_t queued = 0;    // allocations that wait at the engine
  bool renews = false;   // all its workers go at once
  bool frees = false;    // a gang waits for the nodes that are being given back
  int32_t unproven = 0;  // allocations that have brought no worker yet
  bool tries = false;    // its pause is over: one allocation shows whether it works again

  int32_t room() const { return limits->max_nodes - nodes; }
};

class Planner {
 public:
  Planner(const PoolsInput& input, int64_t now_us) : input_(input), now_us_(now_us) {
    plan_.waits.resize(input.pools.size());
    for (const PoolLimits& limits : input.pools) pools_.push_back({&limits});
    for (const PoolAllocation& allocation : input.allocations) Count(allocation);
    for (const PoolWorker& worker : input.workers) {
      supply_.push_back(worker.free);
      if (WINNOW_MUTANT("a worker that leaves soon is room for long parts")) supply_.back().ends_us = 0;
    }
    for (const PoolAllocation& allocation : input.allocations) Expect(allocation);
  }

  PoolsPlan Plan() {
    for (size_t i = 0; i < input_.pools.size(); ++i) {
      PoolCount& pool = pools_[i];
      pool.tries = PoolPausedUntil(*pool.limits) != 0;
    }
    for (const GangDemand& demand : input_.demand) Serve(demand);
    for (const GangRequest* gang : unserved_) {
      if (LacksTime(*gang)) lack_time_.insert(gang);
    }
    for (PoolCount& pool : pools_) Fill(pool);
    for (PoolCount& pool : pools_) pool.renews = Renews(pool);
    for (const PoolAllocation& allocation : input_.allocations) GiveBack(allocation);
    return std::move(plan_);
  }

 private:
  PoolCount* Find(const std::string& name) {
    const auto found = std::find_if(pools_.begin(), pools_.end(),
                                    [&](const PoolCount& pool) { return pool.limits->name == name; });
    return found == pools_.end() ? nullptr : &*found;
  }

  void Count(const PoolAllocation& allocation) {
    PoolCount* pool = Find(allocation.pool);
    if (pool == nullptr) return;
    const bool gone = allocation.cancelled && WINNOW_MUTANT("a cancelled allocation takes no nodes any more");
    if (!gone) pool->nodes += allocation.nodes;
    if (allocation.cancelled) return;
    pool->kept += allocation.nodes;
    if (allocation.state == PoolAllocationState::kQueued) ++pool->queued;
    if (allocation.joined == 0) ++pool->unproven;
  }

  // The nodes whose workers have not come yet.
  void Expect(const PoolAllocation& allocation) {
    PoolCount* pool = Find(allocation.pool);
    if (pool == nullptr || allocation.cancelled) return;
    if (WINNOW_MUTANT("what is queued holds nothing")) return;
    if (allocation.short_since_us != 0 && now_us_ - allocation.short_since_us >= pool->limits->start_us)
      return;
    AddNodes(*pool, std::to_string(allocation.number), allocation.nodes - allocation.joined,
             allocation.number);
  }

  void AddNodes(const PoolCount& pool, const std::string& allocation, int32_t nodes, int64_t number) {
    for (int32_t node = 0; node < nodes; ++node) {
      WorkerRoom room = pool.limits->node;
      room.worker_id = "~" + allocation + "." + std::to_string(node);  // after all real ones
      if (number != 0) of_room_[room.worker_id] = number;
      supply_.push_back(std::move(room));
    }
  }

  // Takes the gang's places out of what there is and what will be. False: there is too little.
  bool TakeFrom(const GangRequest& gang) {
    const std::optional<std::vector<std::string>> places = Place(supply_, gang);
    if (!places) return false;
    for (const std::string& place : *places) {
      Take(place, gang.shape, &supply_);
      if (const auto found = of_room_.find(place); found != of_room_.end()) needed_.insert(found->second);
      used_.insert(place);
    }
    return true;
  }

  void Serve(const GangDemand& demand) {
    double money = demand.money;
    if (CouldHold(demand.gang, demand.money < 0 ? nullptr : &money)) waiting_.push_back(&demand.gang);
    for (int64_t i = 0; i < demand.count; ++i) {
      while (!TakeFrom(demand.gang)) {
        if (!Ask(demand.gang, demand.money < 0 ? nullptr : &money)) {
          if (!waiting_.empty() && waiting_.back() == &demand.gang) unserved_.push_back(&demand.gang);
          return;  // nor is there any for the others
        }
      }
    }
  }

  // How many nodes the pool is to be asked for; 0: none would help.
  int32_t NodesFor(const PoolCount& pool, const GangRequest& gang) const {
    const int32_t each = Capacity(pool.limits->node, gang.shape);
    if (each == 0) return 0;
    const int32_t room = std::max(0, pool.room());
    if (gang.nodes <= room) return gang.nodes;
    if (gang.nodes <= pool.limits->max_nodes - pool.kept) return 0;  // once the others are gone
    const auto nodes_of = [each](int64_t ranks) { return static_cast<int32_t>((ranks + each - 1) / each); };
    if (nodes_of(gang.nodes) <= room) return room;
    // Together with what is there, also in other pools, once that is free.
    int64_t held = 0;
    for (const PoolCount& other : pools_)
      held += static_cast<int64_t>(Capacity(other.limits->node, gang.shape)) * other.kept;
    for (const PoolWorker& worker : input_.workers) {
      if (worker.allocation == 0) held += Capacity(worker.whole, gang.shape);
    }
    const int64_t missing = gang.nodes - held;
    return missing <= 0 ? 0 : std::min(room, nodes_of(missing));
  }

  // Whether the job cannot pay for so many nodes of the pool.
  static bool TooDear(const PoolLimits& pool, int32_t nodes, const double* money) {
    return money != nullptr && nodes * pool.cost_per_node_hour * kPaidHours > *money &&
           !WINNOW_MUTANT("a job gets nodes that it cannot pay");
  }

  // Ranks of the gang that the workers would hold if they held nothing else.
  int64_t RanksThere(const GangRequest& gang) const {
    int64_t ranks = 0;
    for (const PoolWorker& worker : input_.workers) ranks += GangCapacity(worker.whole, gang);
    return ranks;
  }

  // Whether the workers would hold the gang if those did not leave that leave too soon.
  bool LacksTime(const GangRequest& gang) const {
    int64_t ranks = 0;
    for (const PoolWorker& worker : input_.workers) ranks += Capacity(worker.whole, gang.shape);
    return ranks >= gang.nodes && RanksThere(gang) < gang.nodes;
  }

  // Whether a set of workers that could be there together would hold the gang.
  bool CouldHold(const GangRequest& gang, const double* money) const {
    if (RanksThere(gang) >= gang.nodes) return true;
    int64_t most = 0;
    for (const PoolWorker& worker : input_.workers) {
      if (worker.allocation == 0) most += Capacity(worker.whole, gang.shape);
    }
    for (const PoolCount& pool : pools_) {
      if (TooDear(*pool.limits, std::min(gang.nodes, pool.limits->max_nodes), money)) continue;
      most += static_cast<int64_t>(Capacity(pool.limits->node, gang.shape)) * pool.limits->max_nodes;
    }
    return most >= gang.nodes;
  }

  // Why the pool may not be asked for more now; "": it may.
  std::string Blocked(const PoolCount& pool) const {
    const PoolLimits& limits = *pool.limits;
    if (const int64_t until = PoolPausedUntil(limits);
        until > now_us_ && !WINNOW_MUTANT("a pool never pauses")) {
      return "It pauses for " + SecondsText(until - now_us_ + 999'999) + ", because " +
             std::to_string(limits.failures) +
             " allocations in a row brought no worker. The newest: " + limits.failure;
    }
    if (pool.tries && pool.unproven > 0) {
      return "One allocation at a time, until one brings a worker: " + std::to_string(limits.failures) +
             " in a row brought none.";
    }
    if (limits.not_before_us > now_us_) {
      return "Its engine is asked again in " + SecondsText(limits.not_before_us - now_us_ + 999'999) +
             ". It said: " + limits.refusal;
    }
    if (pool.queued >= limits.max_queued && !WINNOW_MUTANT("any number may queue")) {
      return std::to_string(pool.queued) + " of its allocations are queued, which is max_queued.";
    }
    return "";
  }

  void Tell(const PoolCount& pool, const std::string& why) {
    std::string& waits = plan_.waits[static_cast<size_t>(&pool - pools_.data())];
    if (waits.empty()) waits = why;
  }

  // Asks the cheapest pool whose nodes help the gang. `money`: what its job can still spend; null: any
  // amount.
  bool Ask(const GangRequest& gang, double* money) {
    if (!CouldHold(gang, money)) return false;
    PoolCount* best = nullptr;
    int32_t nodes = 0;
    double cost = 0;
    for (PoolCount& pool : pools_) {
      if (Capacity(pool.limits->node, gang.shape) == 0) continue;
      const int32_t of_pool = NodesFor(pool, gang);
      if (of_pool == 0) {
        if (gang.nodes <= pool.limits->max_nodes - pool.kept) {
          pool.frees = true;
          Tell(pool, "It is asked for " + NodesText(gang.nodes) + " once others are given back.");
        } else if (pool.room() <= 0) {
          const int32_t most = pool.limits->max_nodes;
          Tell(pool,
               most == 1 ? "Its one node is in use." : "All of its " + NodesText(most) + " are in use.");
        }
        continue;
      }
      if (const std::string why = Blocked(pool); !why.empty()) {
        Tell(pool, why);
        continue;
      }
      const double of_nodes = of_pool * pool.limits->cost_per_node_hour;
      if (TooDear(*pool.limits, of_pool, money)) {
        Tell(pool, "The job that waits has too little money left.");
        continue;
      }
      if (best != nullptr && (of_nodes >= cost || WINNOW_MUTANT("the price of a node is nothing"))) continue;
      best = &pool;
      nodes = of_pool;
      cost = of_nodes;
    }
    if (best == nullptr) return false;
    if (money != nullptr) *money -= cost * kPaidHours;
    Submit(*best, nodes);
    return true;
  }

  void Submit(PoolCount& pool, int32_t nodes) {
    plan_.submit.push_back({pool.limits->name, nodes});
    pool.nodes += nodes;
    pool.kept += nodes;
    pool.asked += nodes;
    ++pool.queued;
    ++pool.unproven;
    AddNodes(pool, "new" + std::to_string(plan_.submit.size()), nodes, 0);
  }

  // The nodes that the pool always has.
  void Fill(PoolCount& pool) {
    while (pool.kept < pool.limits->min_nodes && pool.room() > 0 && !pool.frees) {
      if (const std::string why = Blocked(pool); !why.empty()) return Tell(pool, why);
      Submit(pool, 1);
    }
  }

  // Whether the nodes that are to come are some of those that a gang waits for.
  bool HelpsUnserved(const PoolAllocation& allocation) const {
    const auto pool = std::find_if(pools_.begin(), pools_.end(), [&](const PoolCount& count) {
      return count.limits->name == allocation.pool;
    });
    return std::any_of(unserved_.begin(), unserved_.end(), [&](const GangRequest* gang) {
      return Capacity(pool->limits->node, gang->shape) > 0;
    });
  }

  // `lacking`: whether gangs that lack time count.
  bool IsNeeded(const PoolAllocation& allocation, bool lacking = true) {
    if (needed_.count(allocation.number) != 0) return true;
    if (allocation.joined < allocation.nodes && HelpsUnserved(allocation)) return true;
    const bool refuses = Find(allocation.pool)->limits->not_before_us != 0;
    for (const PoolWorker& worker : input_.workers) {
      if (worker.allocation != allocation.number) continue;
      if (used_.count(worker.free.worker_id) != 0) return true;
      for (const GangRequest* gang : waiting_) {
        if (GangCapacity(worker.whole, *gang) == 0) continue;
        if (!lacking && lack_time_.contains(gang)) continue;
        // What it lacks the engine's limit may let come in the place of this one.
        if (refuses && RanksThere(*gang) < gang->nodes &&
            !WINNOW_MUTANT("idle nodes stay in the place of those that are missing"))
          continue;
        return true;
      }
    }
    return false;
  }

  // Whether all workers of the pool are to be replaced at once: they could hold a gang that waits but for
  // some that leave too soon, and hold nothing. One by one the first would be too old when the last has come.
  bool Renews(const PoolCount& pool) {
    const bool lacks_time = std::any_of(lack_time_.begin(), lack_time_.end(), [&](const GangRequest* gang) {
      return Capacity(pool.limits->node, gang->shape) > 0;
    });
    if (!lacks_time || WINNOW_MUTANT("workers that leave too soon stay")) return false;
    int64_t idle_us = 0;
    for (const PoolAllocation& allocation : input_.allocations) {
      if (allocation.pool != pool.limits->name || allocation.cancelled) continue;
      if (allocation.joined < allocation.nodes || allocation.idle_since_us == 0) return false;
      if (IsNeeded(allocation, false)) return false;
      idle_us = std::max(idle_us, now_us_ - allocation.idle_since_us);
    }
    return idle_us >= pool.limits->idle_us;
  }

  void Cancel(const PoolAllocation& allocation, PoolCount& pool, std::string reason, bool failed = false) {
    plan_.cancel.push_back({allocation.number, std::move(reason), failed});
    pool.kept -= allocation.nodes;
  }

  void GiveBack(const PoolAllocation& allocation) {
    PoolCount* pool = Find(allocation.pool);
    if (pool == nullptr || allocation.cancelled) return;
    const PoolLimits& limits = *pool->limits;
    const bool holds =
        allocation.workers > 0 && allocation.idle_since_us == 0 && !WINNOW_MUTANT("a busy worker goes");
    if (allocation.short_since_us != 0 && now_us_ - allocation.short_since_us >= limits.start_us && !holds) {
      const std::string time = SecondsText(limits.start_us);
      if (allocation.joined == 0)
        return Cancel(allocation, *pool, "No worker has joined within " + time + ".", true);
      return Cancel(allocation, *pool,
                    std::to_string(allocation.workers) + " of its " + NodesText(allocation.nodes) +
                        " had workers for " + time + ".");
    }
    if (pool->renews) {
      return Cancel(allocation, *pool,
                    "Idle for " + SecondsText(now_us_ - allocation.idle_since_us) +
                        ", and some leave too soon for a trial that waits.");
    }
    const bool needed = IsNeeded(allocation) && !WINNOW_MUTANT("what a gang waits for goes");
    const bool spare =
        pool->kept - pool->asked - allocation.nodes >= limits.min_nodes || WINNOW_MUTANT("the minimum goes");
    if (allocation.state == PoolAllocationState::kQueued) {
      if (needed || !spare) return;
      plan_.unneeded.push_back(allocation.number);
      const int64_t patience = std::min(kUnneededUs, limits.idle_us);
      if (allocation.unneeded_since_us != 0 && now_us_ - allocation.unneeded_since_us >= patience)
        Cancel(allocation, *pool, "Nothing waits for it any more.");
      return;
    }
    if (allocation.workers == 0 || holds || needed || !spare) return;
    if (now_us_ - allocation.idle_since_us >= limits.idle_us)
      Cancel(allocation, *pool, "Idle for " + SecondsText(limits.idle_us) + ".");
  }

  const PoolsInput& input_;
  const int64_t now_us_;
  PoolsPlan plan_;
  std::vector<PoolCount> pools_;
  std::vector<WorkerRoom> supply_;            // what is free, and what will be
  std::map<std::string, int64_t> of_room_;    // the allocation of a room that will be
  std::set<int64_t> needed_;                  // allocations whose coming nodes a gang takes
  std::set<std::string> used_;                // rooms that a gang takes
  std::vector<const GangRequest*> waiting_;   // gangs for which there could be room
  std::vector<const GangRequest*> unserved_;  // those for which not enough is there or coming
  std::set<const GangRequest*> lack_time_;    // of these, see LacksTime
};

}  // namespace

PoolsPlan PlanPools(const PoolsInput& input, int64_t now_us) { return Planner(input, now_us).Plan(); }

}  // namespace winnow
