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
  size_t job = 0;
  int64_t takes_us = 0;                   // from its last checkpoint
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
  std::vector<WorkerRoom> workers = {};  // whole; empty: they have not come, or have left
};

// A pool, and what only its engine knows.
struct PlayedPool {
  int64_t limit_us = 0;        // of the time of each allocation; 0: none
  int64_t most_submitted = 0;  // allocations that the engine takes at once; 0: any number
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
      PlayedPool& engine = engines_.emplace_back();
      if (dice_.Chance(0.4)) engine.limit_us = dice_.Between(600, 1'800) * kSecondUs;
      // Nodes that a pool always has come one by one, and so could be all that an engine takes.
      if (pool.min_nodes == 0 && dice_.Chance(0.3)) engine.most_submitted = dice_.Between(1, 3);
    }
    const size_t jobs = static_cast<size_t>(dice_.Between(1, 3));
    for (size_t job = 0; job < jobs; ++job) {
      money_.push_back(-1);
      if (dice_.Chance(0.2)) money_.back() = static_cast<double>(dice_.Between(0, 1'000)) / 1000;
    }
    const int64_t gangs = dice_.Between(1, 12);
    for (int64_t i = 0; i < gangs; ++i) {
      PlayedGang& gang = gangs_.emplace_back();
      gang.gang.nodes = dice_.Chance(0.6) ? 1 : static_cast<int32_t>(dice_.Between(2, 6));
      gang.gang.shape.slots = static_cast<int32_t>(dice_.Between(1, 3));
      if (dice_.Chance(0.2)) gang.gang.shape.labels[kPoolLabel] = "p0";
      gang.takes_us = dice_.Skewed(1, dice_.Chance(0.3) ? 2'400 : 600) * kSecondUs;
      gang.job = static_cast<size_t>(dice_.Between(0, static_cast<int64_t>(jobs) - 1));
    }
  }

  std::string Run() {
    while (now_us_ < kEndUs) {
      Engines();
      Leave();
      Train();
      Watch();
      if (std::string broken = Decide(); !broken.empty())
        return fmt::format("at {} s: {}", now_us_ / kSecondUs, broken);
      if (now_us_ > kTroubleUs && AllDone() && Shrunk()) return "";
      const int64_t step_us = dice_.Between(1, now_us_ < kTroubleUs ? 8 : 30) * kSecondUs;
      Pay(step_us);
      now_us_ += step_us;
    }
    for (const PlayedGang& gang : gangs_) {
      if (!gang.done && CouldHold(gang))
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
    for (const PlayedGang& gang : gangs_) {
      if (gang.done) continue;
      text +=
          fmt::format("; job {}: {} x {} slots for {} s{}", gang.job, gang.gang.nodes, gang.gang.shape.slots,
                      gang.takes_us / kSecondUs, gang.ends_us != 0 ? ", trains" : "");
    }
    return text;
  }

  // Whether a gang can ever run; one whose job has little money is not asked.
  bool CouldHold(const PlayedGang& gang) const {
    if (money_[gang.job] >= 0) return false;
    int64_t most = 0;
    for (const PoolLimits& pool : limits_)
      most += static_cast<int64_t>(Capacity(pool.node, gang.gang.shape)) * pool.max_nodes;
    return most >= gang.gang.nodes;
  }

  bool AllDone() const {
    return std::all_of(gangs_.begin(), gangs_.end(),
                       [this](const PlayedGang& gang) { return gang.done || !CouldHold(gang); });
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

  PlayedPool& EngineOf(const std::string& name) {
    return engines_[static_cast<size_t>(&LimitsOf(name) - limits_.data())];
  }

  // What a worker trains waits again, from where it was if it could save that.
  void Interrupt(const std::string& worker, bool saves) {
    for (PlayedGang& gang : gangs_) {
      if (gang.ends_us == 0 || gang.done) continue;
      if (std::find(gang.workers.begin(), gang.workers.end(), worker) == gang.workers.end()) continue;
      if (saves) gang.takes_us = std::max(kSecondUs, gang.ends_us - now_us_);
      gang.ends_us = 0;
      gang.workers.clear();
    }
  }

  // Workers leave before their time is over; an allocation without workers has ended.
  void Leave() {
    std::vector<int64_t> ended;
    for (auto& [number, allocation] : open_) {
      if (allocation.workers.empty()) continue;
      std::erase_if(allocation.workers, [&](const WorkerRoom& worker) {
        const bool leaves = worker.ends_us != 0 && now_us_ >= worker.ends_us;
        if (leaves) Interrupt(worker.worker_id, true);
        return leaves;
      });
      allocation.told.workers = static_cast<int32_t>(allocation.workers.size());
      if (allocation.workers.empty()) ended.push_back(number);
    }
    for (const int64_t number : ended) End(number);
  }

  // Jobs pay for the ranks that train; one without money ends.
  void Pay(int64_t step_us) {
    for (const PlayedGang& gang : gangs_) {
      if (gang.ends_us == 0 || gang.done || money_[gang.job] < 0) continue;
      for (const std::string& worker : gang.workers) {
        const PoolLimits& pool = LimitsOf(open_.at(NumberOf(worker)).told.pool);
        const double part = static_cast<double>(gang.gang.shape.slots) / pool.node.free_slots;
        const double hours = static_cast<double>(step_us) / 3.6e9;
        money_[gang.job] = std::max(0.0, money_[gang.job] - part * pool.cost_per_node_hour * hours);
      }
    }
    for (PlayedGang& gang : gangs_) {
      if (money_[gang.job] == 0) gang.done = true;
    }
  }

  // The allocation of a worker.
  static int64_t NumberOf(const std::string& worker) { return std::stoll(worker.substr(1)); }

  // The allocation ends: what it trained waits again.
  void End(int64_t number) {
    PlayedAllocation& allocation = open_.at(number);
    PoolLimits& pool = LimitsOf(allocation.told.pool);
    if (allocation.told.joined > 0) {
      pool.failures = pool.failed_tries = 0;
    } else if (allocation.needed) {
      ++pool.failures;
      ++pool.failed_tries;
      pool.failed_at_us = now_us_;
      pool.failure = "it failed";
    }
    for (const WorkerRoom& worker : allocation.workers) Interrupt(worker.worker_id, false);
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
      if (!come || told.joined > 0) continue;
      // Some nodes may stay without.
      const int32_t joined = trouble() && dice_.Chance(0.05)
                                 ? static_cast<int32_t>(dice_.Between(0, told.nodes - 1))
                                 : told.nodes;
      for (int32_t node = 0; node < joined; ++node) {
        WorkerRoom room = LimitsOf(told.pool).node;
        room.worker_id = fmt::format("w{}.{}", number, node);
        if (const int64_t limit_us = EngineOf(told.pool).limit_us; limit_us != 0) {
          room.life_us = limit_us * 9 / 10 - dice_.Between(0, limit_us / 10);
          room.ends_us = now_us_ + room.life_us;
        }
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
      gang.gang.start_us = now_us_;
      gang.gang.takes_us = gang.takes_us;
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
      if (gang.done || gang.ends_us != 0) continue;
      GangDemand& each = demand.emplace_back(GangDemand{gang.gang, 1, money_[gang.job]});
      each.gang.start_us = now_us_;
      each.gang.takes_us = gang.takes_us;
    }
    return demand;
  }

  const PoolLimits& PoolOf(const PoolAllocation& told) const {
    return *std::find_if(limits_.begin(), limits_.end(),
                         [&](const PoolLimits& each) { return each.name == told.pool; });
  }

  // Nodes of the allocation whose workers are to come.
  int32_t Coming(const PoolAllocation& told) const {
    const bool late = told.short_since_us != 0 && now_us_ - told.short_since_us >= PoolOf(told).start_us;
    return told.cancelled || late ? 0 : told.nodes - told.joined;
  }

  // Whether a pool has room for the gang in nodes of its own, and may be asked for them.
  bool MayAsk(const PoolLimits& pool, const GangDemand& demand) const {
    int32_t queued = 0;
    for (const auto& [number, allocation] : open_) {
      const PoolAllocation& told = allocation.told;
      queued += told.pool == pool.name && told.state == PoolAllocationState::kQueued && !told.cancelled;
    }
    const int32_t nodes = demand.gang.nodes;
    return Capacity(pool.node, demand.gang.shape) > 0 && nodes <= pool.max_nodes - NodesOf(pool.name) &&
           pool.failures < kPoolFailures && pool.not_before_us <= now_us_ && queued < pool.max_queued &&
           (demand.money < 0 || nodes * pool.cost_per_node_hour * kPaidHours <= demand.money);
  }

  // What the gang that is served first must get, if neither what is free nor what is coming holds it: nodes,
  // of the cheapest pool that has room for it.
  std::string Missed(const std::vector<GangDemand>& demand, const PoolsPlan& plan) const {
    if (demand.empty()) return "";
    const GangDemand& first = demand.front();
    std::vector<WorkerRoom> rooms = Free();
    for (const auto& [number, allocation] : open_) {
      for (int32_t node = 0; node < Coming(allocation.told); ++node) {
        rooms.push_back(PoolOf(allocation.told).node);
        rooms.back().worker_id = fmt::format("coming {}.{}", number, node);
      }
    }
    if (Place(rooms, first.gang)) return "";
    for (const PoolLimits& pool : limits_) {
      if (!MayAsk(pool, first)) continue;
      if (plan.submit.empty()) return "nobody is asked for a gang that waits";
      const PoolsPlan::Submission& asked = plan.submit.front();
      const auto of = std::find_if(limits_.begin(), limits_.end(),
                                   [&](const PoolLimits& each) { return each.name == asked.pool; });
      if (asked.nodes * of->cost_per_node_hour > first.gang.nodes * pool.cost_per_node_hour)
        return "a pool is asked though a cheaper one has room";
    }
    return "";
  }

  // Whether what is free and what is coming would hold all that waits, by a plain count; only where all are
  // single ranks of one slot that may go anywhere.
  bool Enough(const std::vector<GangDemand>& demand) const {
    int64_t slots = 0;
    for (const WorkerRoom& room : Free()) {
      if (std::all_of(demand.begin(), demand.end(),
                      [&](const GangDemand& each) { return GangCapacity(room, each.gang) > 0; }))
        slots += room.free_slots;
    }
    for (const auto& [number, allocation] : open_) {
      const PoolAllocation& told = allocation.told;
      slots += static_cast<int64_t>(Coming(told)) * PoolOf(told).node.free_slots;
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
      input.workers.push_back({*of, whole, NumberOf(whole.worker_id)});
    }
    input.demand = Demand();
    const bool enough = Enough(input.demand);
    const PoolsPlan plan = PlanPools(input, now_us_);
    if (std::string missed = Missed(input.demand, plan); !missed.empty()) return missed;
    leave_too_soon_.clear();
    for (const auto& [number, allocation] : open_) {
      if (LeavesTooSoon(allocation)) leave_too_soon_.insert(number);
    }
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
      const bool is_paid = std::any_of(input.demand.begin(), input.demand.end(), [&](const GangDemand& each) {
        return each.money < 0 || pays <= each.money;
      });
      if (!is_paid && !for_minimum) return "a job gets nodes that it cannot pay";
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

  // Whether a gang waits that would have room if no worker left, and ranks of it in this allocation.
  bool LeavesTooSoon(const PlayedAllocation& allocation) const {
    for (const GangDemand& each : Demand()) {
      int64_t ranks = 0, in_time = 0;
      for (const WorkerRoom& worker : Whole()) {
        ranks += Capacity(worker, each.gang.shape);
        in_time += GangCapacity(worker, each.gang);
      }
      if (ranks < each.gang.nodes || in_time >= each.gang.nodes) continue;
      for (const WorkerRoom& worker : allocation.workers) {
        if (Capacity(worker, each.gang.shape) > 0) return true;
      }
    }
    return false;
  }

  std::string Cancel(const PoolsPlan::Cancellation& cancellation) {
    PlayedAllocation& allocation = open_.at(cancellation.number);
    const PoolLimits& pool = LimitsOf(allocation.told.pool);
    if (Busy(allocation)) return "an allocation is given back that trains";
    const bool too_soon = leave_too_soon_.contains(cancellation.number);
    const bool useless =
        allocation.told.short_since_us != 0 && now_us_ - allocation.told.short_since_us >= pool.start_us;
    if (!useless && pool.not_before_us == 0 && !too_soon) {
      for (const WorkerRoom& worker : allocation.workers) {
        if (reserved_.contains(worker.worker_id))
          return "an allocation is given back that a gang waits for: " + cancellation.reason;
      }
    }
    allocation.told.cancelled = true;
    allocation.needed = cancellation.failed;
    if (!useless && !too_soon && Kept(pool.name) < pool.min_nodes) return "a pool gets below its minimum";
    allocation.gone_us = now_us_ + dice_.Skewed(1, trouble() ? 300 : 20) * kSecondUs;
    return "";
  }

  void Submit(const PoolsPlan::Submission& submission) {
    PoolLimits& pool = LimitsOf(submission.pool);
    const int64_t most = EngineOf(submission.pool).most_submitted;
    const int64_t submitted = std::count_if(open_.begin(), open_.end(), [&](const auto& entry) {
      return entry.second.told.pool == submission.pool;
    });
    if ((most != 0 && submitted >= most) || (trouble() && dice_.Chance(0.05))) {  // a limit
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
    }
    // The workers leave before that.
    if (const int64_t limit_us = EngineOf(submission.pool).limit_us; limit_us != 0) {
      const int64_t limit_end_us = allocation.starts_us + limit_us;
      allocation.ends_us =
          allocation.ends_us == 0 ? limit_end_us : std::min(allocation.ends_us, limit_end_us);
    }
    open_[last_number_] = std::move(allocation);
  }

  Dice dice_;
  int64_t now_us_ = kSecondUs;
  int64_t last_number_ = 0;
  std::vector<double> money_;  // that each job may still spend; below 0: any amount
  std::vector<PoolLimits> limits_;
  std::vector<PlayedPool> engines_;  // of these
  std::vector<PlayedGang> gangs_;
  std::map<int64_t, PlayedAllocation> open_;
  std::map<int64_t, int64_t> idle_since_;
  Reservation reserved_;
  std::set<int64_t> leave_too_soon_;  // allocations whose workers could be replaced by others, before a plan
};

}  // namespace

std::string PlayPools(uint64_t seed) { return PoolsPlay(seed).Run(); }

}  // namespace winnow
