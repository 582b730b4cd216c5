#include "tests/simulation/pools_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler/pools.h"
#include "scheduler/reservation.h"
#include "tests/simulation/dice.h"

namespace winnow {
namespace {

constexpr int64_t kSecondUs = 1'000'000;
constexpr int64_t kTroubleUs = 1'800 * kSecondUs;  // engines misbehave until then
constexpr int64_t kEndUs = 30'000 * kSecondUs;     // all is done by then

// A gang of a job: waits, trains, or is done.
struct PlayedGang {
  GangRequest gang;
  int64_t takes_us = 0;
  int64_t ends_us = 0;                    // of the run; 0: it waits
  std::vector<std::string> workers = {};  // of its ranks
  bool done = false;
  Reservation reserved = {};  // workers that are kept for it
};

struct PlayedAllocation {
  PoolAllocation told;                   // what PlanPools is told
  int64_t starts_us = 0;                 // when the engine starts it
  int64_t joins_us = 0;                  // from the start, when its workers come; -1: they never do
  int64_t ends_us = 0;                   // when the engine ends it by itself; 0: not
  int64_t gone_us = 0;                   // after a cancellation
  bool needed = true;                    // it was not given back because nobody waited for it
  std::vector<WorkerRoom> workers = {};  // whole; empty: they have not come
};

class PoolsPlay {
 public:
  explicit PoolsPlay(uint64_t seed) : dice_(seed) {
    const int64_t pools = dice_.Between(1, 3);
    for (int64_t i = 0; i < pools; ++i) {
      PoolLimits& pool = limits_.emplace_back();
      pool.name = fmt::format("p{}", i);
      pool.node.free_slots = static_cast<int32_t>(dice_.Between(1, 3));
      pool.node.labels[kPoolLabel] = pool.name;
      pool.max_nodes = static_cast<int32_t>(dice_.Between(1, 6));
      pool.min_nodes = dice_.Chance(0.3) ? static_cast<int32_t>(dice_.Between(1, pool.max_nodes)) : 0;
      pool.max_queued = static_cast<int32_t>(dice_.Between(1, 4));
      pool.idle_us = dice_.Between(10, 120) * kSecondUs;
      pool.start_us = dice_.Between(60, 300) * kSecondUs;
      pool.cost_per_node_hour = static_cast<double>(dice_.Between(1, 5));
    }
    const int64_t gangs = dice_.Between(1, 12);
    for (int64_t i = 0; i < gangs; ++i) {
      PlayedGang& gang = gangs_.emplace_back();
      gang.gang.nodes = dice_.Chance(0.6) ? 1 : static_cast<int32_t>(dice_.Between(2, 6));
      gang.gang.shape.slots = static_cast<int32_t>(dice_.Between(1, 3));
      if (dice_.Chance(0.2)) gang.gang.shape.labels[kPoolLabel] = "p0";
      gang.takes_us = dice_.Skewed(1, 600) * kSecondUs;
    }
    if (dice_.Chance(0.2)) money_ = static_cast<double>(dice_.Between(0, 100)) / 1000;
  }

  std::string Run() {
    while (now_us_ < kEndUs) {
      Engines();
      Train();
      Watch();
      if (std::string broken = Decide(); !broken.empty())
        return fmt::format("at {} s: {}", now_us_ / kSecondUs, broken);
      if (now_us_ > kTroubleUs && AllDone() && Shrunk()) return "";
      now_us_ += dice_.Between(1, now_us_ < kTroubleUs ? 8 : 30) * kSecondUs;
    }
    for (const PlayedGang& gang : gangs_) {
      if (!gang.done && CouldHold(gang.gang))
        return fmt::format("a gang of {} x {} slots that fits waits for ever:{}", gang.gang.nodes,
                           gang.gang.shape.slots, State());
    }
    if (Shrunk()) return "";
    return "a pool did not shrink to its minimum:" + State();
  }

 private:
  bool trouble() const { return now_us_ < kTroubleUs; }

  std::string State() const {
    std::string text;
    for (const PoolLimits& pool : limits_)
      text += fmt::format(" {} has {} of {} to {}", pool.name, NodesOf(pool.name), pool.min_nodes,
                          pool.max_nodes);
    for (const auto& [number, allocation] : open_) {
      const PoolAllocation& told = allocation.told;
      text += fmt::format("; {} of {}: {} nodes, {} workers{}{}", number, told.pool, told.nodes, told.workers,
                          told.cancelled ? ", cancelled" : "",
                          told.state == PoolAllocationState::kQueued ? ", queued" : "");
    }
    return text;
  }

  // Whether a gang can ever run; one that cannot pay is not asked.
  bool CouldHold(const GangRequest& gang) const {
    if (money_ >= 0) return false;
    int64_t most = 0;
    for (const PoolLimits& pool : limits_)
      most += static_cast<int64_t>(Capacity(pool.node, gang.shape)) * pool.max_nodes;
    return most >= gang.nodes;
  }

  bool AllDone() const {
    return std::all_of(gangs_.begin(), gangs_.end(),
                       [this](const PlayedGang& gang) { return gang.done || !CouldHold(gang.gang); });
  }

  int32_t NodesOf(const std::string& pool) const {
    int32_t nodes = 0;
    for (const auto& [number, allocation] : open_)
      nodes += allocation.told.pool == pool ? allocation.told.nodes : 0;
    return nodes;
  }

  bool Shrunk() const {
    return std::all_of(limits_.begin(), limits_.end(), [this](const PoolLimits& pool) {
      return NodesOf(pool.name) == pool.min_nodes || (NodesOf(pool.name) >= pool.min_nodes && HasWide(pool));
    });
  }
  // Allocations of several nodes can only go whole: what is left is not more than one too many.
  bool HasWide(const PoolLimits& pool) const {
    int32_t least = pool.max_nodes + 1;
    for (const auto& [number, allocation] : open_) {
      if (allocation.told.pool == pool.name) least = std::min(least, allocation.told.nodes);
    }
    return least > 1 && NodesOf(pool.name) - least < pool.min_nodes;
  }

  PoolLimits& LimitsOf(const std::string& name) {
    return *std::find_if(limits_.begin(), limits_.end(),
                         [&](const PoolLimits& pool) { return pool.name == name; });
  }

  // The allocation ends: what it trained waits again.
  void End(int64_t number) {
    PlayedAllocation& allocation = open_.at(number);
    PoolLimits& pool = LimitsOf(allocation.told.pool);
    if (allocation.told.joined > 0) {
      pool.failures = 0;
    } else if (allocation.needed) {
      ++pool.failures;
      pool.failed_at_us = now_us_;
      pool.failure = "it failed";
    }
    for (const WorkerRoom& worker : allocation.workers) {
      for (PlayedGang& gang : gangs_) {
        if (gang.ends_us == 0 || gang.done) continue;
        if (std::find(gang.workers.begin(), gang.workers.end(), worker.worker_id) == gang.workers.end())
          continue;
        gang.ends_us = 0;
        gang.workers.clear();
      }
    }
    open_.erase(number);
  }

  void Engines() {
    std::vector<int64_t> ended;
    for (auto& [number, allocation] : open_) {
      PoolAllocation& told = allocation.told;
      const bool over = (allocation.ends_us != 0 && now_us_ >= allocation.ends_us) ||
                        (allocation.gone_us != 0 && now_us_ >= allocation.gone_us);
      if (over) {
        ended.push_back(number);
        continue;
      }
      if (told.cancelled) continue;
      if (told.state == PoolAllocationState::kQueued && now_us_ >= allocation.starts_us)
        told.state = PoolAllocationState::kRunning;
      const bool come = told.state == PoolAllocationState::kRunning && allocation.joins_us >= 0 &&
                        now_us_ >= allocation.starts_us + allocation.joins_us;
      if (!come || !allocation.workers.empty()) continue;
      // Some nodes may stay without.
      const int32_t joined = trouble() && dice_.Chance(0.05)
                                 ? static_cast<int32_t>(dice_.Between(0, told.nodes - 1))
                                 : told.nodes;
      for (int32_t node = 0; node < joined; ++node) {
        WorkerRoom room = LimitsOf(told.pool).node;
        room.worker_id = fmt::format("w{}.{}", number, node);
        allocation.workers.push_back(std::move(room));
      }
      told.joined = joined;
      told.workers = joined;
      idle_since_[number] = now_us_;
    }
    for (const int64_t number : ended) End(number);
  }

  std::vector<WorkerRoom> Free() const {
    std::vector<WorkerRoom> rooms;
    for (const auto& [number, allocation] : open_) {
      if (!allocation.told.cancelled)
        rooms.insert(rooms.end(), allocation.workers.begin(), allocation.workers.end());
    }
    for (const PlayedGang& gang : gangs_) {
      if (gang.ends_us == 0 || gang.done) continue;
      for (const std::string& worker : gang.workers) Take(worker, gang.gang.shape, &rooms);
    }
    return rooms;
  }

  std::vector<WorkerRoom> Whole() const {
    std::vector<WorkerRoom> rooms;
    for (const auto& [number, allocation] : open_) {
      if (!allocation.told.cancelled)
        rooms.insert(rooms.end(), allocation.workers.begin(), allocation.workers.end());
    }
    return rooms;
  }

  void Train() {
    for (PlayedGang& gang : gangs_) {
      if (gang.ends_us == 0 || gang.done || now_us_ < gang.ends_us) continue;
      gang.done = true;
    }
    // As the server dispatches: in order, with workers reserved for the first gang that finds no room.
    Reservation reserved;
    bool keeps = false;
    for (PlayedGang& gang : gangs_) {
      if (gang.done || gang.ends_us != 0) continue;
      const std::vector<WorkerRoom> free = Free();
      const auto places = Place(keeps ? Unreserved(free, reserved) : free, gang.gang);
      if (places) {
        gang.workers = *places;
        gang.ends_us = now_us_ + gang.takes_us;
      } else if (!keeps) {
        gang.reserved = Reserve(free, Whole(), gang.gang, gang.reserved);
        reserved = gang.reserved;
        keeps = !reserved.empty();
      }
    }
    reserved_ = reserved;
  }

  bool Busy(const PlayedAllocation& allocation) const {
    for (const PlayedGang& gang : gangs_) {
      if (gang.done || gang.ends_us == 0) continue;
      for (const WorkerRoom& worker : allocation.workers) {
        if (std::find(gang.workers.begin(), gang.workers.end(), worker.worker_id) != gang.workers.end())
          return true;
      }
    }
    return false;
  }

  void Watch() {
    for (auto& [number, allocation] : open_) {
      PoolAllocation& told = allocation.told;
      if (Busy(allocation)) idle_since_[number] = now_us_;
      told.idle_since_us = allocation.workers.empty() || Busy(allocation) ? 0 : idle_since_[number];
      const bool is_short = told.state == PoolAllocationState::kRunning && told.workers < told.nodes;
      told.short_since_us = !is_short ? 0 : told.short_since_us == 0 ? now_us_ : told.short_since_us;
    }
  }

  std::vector<GangDemand> Demand() const {
    std::vector<GangDemand> demand;
    for (const PlayedGang& gang : gangs_) {
      if (!gang.done && gang.ends_us == 0) demand.push_back({gang.gang, 1, money_});
    }
    return demand;
  }

  // Whether what is free and what is coming would hold all that waits, by a plain count; only where all are
  // single ranks of one slot that may go anywhere.
  bool Enough(const std::vector<GangDemand>& demand) const {
    int64_t slots = 0;
    for (const WorkerRoom& room : Free()) slots += room.free_slots;
    for (const auto& [number, allocation] : open_) {
      const PoolAllocation& told = allocation.told;
      const PoolLimits& pool = *std::find_if(limits_.begin(), limits_.end(),
                                             [&](const PoolLimits& each) { return each.name == told.pool; });
      const bool late = told.short_since_us != 0 && now_us_ - told.short_since_us >= pool.start_us;
      if (!told.cancelled && !late)
        slots += static_cast<int64_t>(told.nodes - told.joined) * pool.node.free_slots;
    }
    for (const GangDemand& each : demand) {
      if (each.gang.nodes != 1 || each.gang.shape.slots != 1 || !each.gang.shape.labels.empty()) return false;
    }
    return slots >= static_cast<int64_t>(demand.size());
  }

  std::string Decide() {
    PoolsInput input;
    input.pools = limits_;
    for (const auto& [number, allocation] : open_) input.allocations.push_back(allocation.told);
    const std::vector<WorkerRoom> free = Free();
    for (const WorkerRoom& whole : Whole()) {
      const auto of = std::find_if(free.begin(), free.end(),
                                   [&](const WorkerRoom& room) { return room.worker_id == whole.worker_id; });
      const int64_t number = std::stoll(whole.worker_id.substr(1));
      input.workers.push_back({*of, whole, number});
    }
    input.demand = Demand();
    const bool enough = Enough(input.demand);
    const PoolsPlan plan = PlanPools(input, now_us_);
    for (const PoolsPlan::Cancellation& cancellation : plan.cancel) {
      if (std::string broken = Cancel(cancellation); !broken.empty()) return broken;
    }
    for (auto& [number, allocation] : open_) {
      const bool unneeded =
          std::find(plan.unneeded.begin(), plan.unneeded.end(), number) != plan.unneeded.end();
      int64_t& since = allocation.told.unneeded_since_us;
      since = !unneeded ? 0 : since == 0 ? now_us_ : since;
    }
    std::map<std::string, int32_t> below_minimum;
    for (const PoolLimits& pool : limits_)
      below_minimum[pool.name] = std::max(0, pool.min_nodes - Kept(pool.name));
    for (const PoolsPlan::Submission& submission : plan.submit) {
      const PoolLimits& pool =
          *std::find_if(input.pools.begin(), input.pools.end(),
                        [&](const PoolLimits& each) { return each.name == submission.pool; });
      int32_t& fills = below_minimum[pool.name];
      const bool for_minimum = fills > 0 && submission.nodes == 1;
      if (for_minimum) --fills;
      if (enough && !for_minimum) return "nodes are submitted though what is there or coming is enough";
      if (PoolPausedUntil(pool) > now_us_) return "a pool that pauses gets an allocation";
      if (pool.not_before_us > now_us_) return "an engine that said not now gets an allocation";
      const double pays = submission.nodes * pool.cost_per_node_hour * kPaidHours;
      if (money_ >= 0 && pays > money_ && !for_minimum) return "a job gets nodes that it cannot pay";
      Submit(submission);
    }
    for (const PoolLimits& pool : limits_) {
      if (NodesOf(pool.name) > pool.max_nodes) return "a pool has more nodes than max_nodes";
      int32_t queued = 0;
      for (const auto& [number, allocation] : open_) {
        const PoolAllocation& told = allocation.told;
        queued +=
            told.pool == pool.name && told.state == PoolAllocationState::kQueued && !told.cancelled ? 1 : 0;
      }
      if (queued > pool.max_queued) return "more allocations are queued than max_queued";
    }
    return "";
  }

  int32_t Kept(const std::string& pool) const {
    int32_t nodes = 0;
    for (const auto& [number, allocation] : open_) {
      if (allocation.told.pool == pool && !allocation.told.cancelled) nodes += allocation.told.nodes;
    }
    return nodes;
  }

  std::string Cancel(const PoolsPlan::Cancellation& cancellation) {
    PlayedAllocation& allocation = open_.at(cancellation.number);
    const PoolLimits& pool = LimitsOf(allocation.told.pool);
    if (Busy(allocation)) return "an allocation is given back that trains";
    const bool useless =
        allocation.told.short_since_us != 0 && now_us_ - allocation.told.short_since_us >= pool.start_us;
    if (!useless) {
      for (const WorkerRoom& worker : allocation.workers) {
        if (reserved_.contains(worker.worker_id))
          return "an allocation is given back that a gang waits for: " + cancellation.reason;
      }
    }
    allocation.told.cancelled = true;
    allocation.needed = cancellation.failed;
    if (!useless && Kept(pool.name) < pool.min_nodes) return "a pool gets below its minimum";
    allocation.gone_us = now_us_ + dice_.Skewed(1, trouble() ? 300 : 20) * kSecondUs;
    return "";
  }

  void Submit(const PoolsPlan::Submission& submission) {
    PoolLimits& pool = LimitsOf(submission.pool);
    if (trouble() && dice_.Chance(0.05)) {  // a limit
      pool.not_before_us = now_us_ + dice_.Between(5, 60) * kSecondUs;
      return;
    }
    pool.not_before_us = 0;
    PlayedAllocation allocation;
    allocation.told.number = ++last_number_;
    allocation.told.pool = submission.pool;
    allocation.told.nodes = submission.nodes;
    allocation.starts_us = now_us_ + dice_.Skewed(0, trouble() ? 900 : 60) * kSecondUs;
    allocation.joins_us = dice_.Skewed(0, 20) * kSecondUs;
    if (trouble()) {
      if (dice_.Chance(0.15)) allocation.joins_us = -1;
      if (dice_.Chance(0.2))
        allocation.ends_us = now_us_ + dice_.Skewed(1, 1200) * kSecondUs;  // refused, preempted, lost
    } else if (dice_.Chance(0.05)) {
      allocation.ends_us = allocation.starts_us + 900 * kSecondUs;  // time limit
    }
    open_[last_number_] = std::move(allocation);
  }

  Dice dice_;
  int64_t now_us_ = kSecondUs;
  int64_t last_number_ = 0;
  double money_ = -1;
  std::vector<PoolLimits> limits_;
  std::vector<PlayedGang> gangs_;
  std::map<int64_t, PlayedAllocation> open_;
  std::map<int64_t, int64_t> idle_since_;
  Reservation reserved_;
};

}  // namespace

std::string PlayPools(uint64_t seed) { return PoolsPlay(seed).Run(); }

}  // namespace winnow
