#include "server/pools/pool_demand.h"

#include <algorithm>
#include <set>

#include "scheduler/decide.h"
#include "scheduler/part_time.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

// What one job waits for.
class JobDemand {
 public:
  JobDemand(const OpenJob& job, int64_t now_us) : shape_(job.shape), now_us_(now_us) {
    const double limit = job.state.spec().limits.max_cost;
    if (limit > 0) money_ = std::max(0.0, limit - job.Cost(now_us));
  }

  // Adds gangs of so many ranks; neighbours that are alike become one entry.
  void Add(int32_t nodes, int64_t takes_us, int64_t count) {
    if (count <= 0) return;
    if (!gangs_.empty() && gangs_.back().gang.nodes == nodes && gangs_.back().gang.takes_us == takes_us) {
      gangs_.back().count += count;
      return;
    }
    GangDemand& demand = gangs_.emplace_back();
    demand.gang.nodes = nodes;
    demand.gang.shape = shape_;
    demand.gang.start_us = now_us_;
    demand.gang.takes_us = takes_us;
    demand.count = count;
    demand.money = money_;
  }

  std::vector<GangDemand> Take() { return std::move(gangs_); }

 private:
  const RankShape& shape_;
  const int64_t now_us_;
  double money_ = -1;
  std::vector<GangDemand> gangs_;
};

std::vector<GangDemand> DemandOfJob(const OpenJob& job, int64_t most, int64_t now_us) {
  const JobState& state = job.state;
  const Limits& limits = state.spec().limits;
  int64_t left = most;
  if (limits.max_parallel_trials > 0)
    left = std::min(left, limits.max_parallel_trials - state.totals().live_attempts);
  JobDemand demand(job, now_us);
  int64_t fresh = most;  // trials that may still be made
  if (state.most_trials() > 0) fresh = std::max<int64_t>(0, state.most_trials() - state.next_trial() + 1);
  std::set<TrialNumber> passed;
  while (left > 0) {
    const std::optional<Admission> admission = Admit(state, passed);
    if (!admission) {
      if (passed.empty() && WantsSuggestion(state)) {
        // It may also say that a paused trial goes on.
        demand.Add(state.spec().MostNodes(), 0, std::min(left, fresh + state.totals().paused));
      }
      break;
    }
    if (admission->trial == 0) break;  // it ends a trial, which happens without room
    const int32_t nodes = NodesOf(state, *admission);
    const int64_t takes_us = ExpectedPartUs(state, *admission);
    if (!admission->decision) {
      demand.Add(nodes, takes_us, 1);
      passed.insert(admission->trial);
      --left;
      continue;
    }
    const bool creates = std::holds_alternative<TrialCreated>(*admission->decision);
    demand.Add(nodes, takes_us, creates ? std::min(left, fresh) : std::min(left, fresh + 1));
    break;
  }
  return demand.Take();
}

}  // namespace

std::vector<GangDemand> DemandOf(Engine& engine, int64_t most) {
  const ProjectBook& projects = engine.projects();
  std::set<Claim> order;
  for (const auto& [key, job] : engine.jobs().all()) {
    if (job->state.ended() || job->external()) continue;
    const QuotaUse more = UseOfStart(job->shape, job->state.spec().LeastNodes(), job->state);
    // More nodes would not help a job that waits for its quota.
    if (projects.on() && projects.Forbidden(job->row.project, job->row.owner, more)) continue;
    order.insert(job->claim());
  }
  std::vector<GangDemand> demand;
  for (const Claim& claim : order) {
    for (GangDemand& gangs : DemandOfJob(*engine.jobs().FindKey(claim.job), most, engine.context().wall_us()))
      demand.push_back(std::move(gangs));
  }
  return demand;
}

std::vector<PoolWorker> WorkersOf(Engine& engine, const std::map<std::string, int64_t>& allocations) {
  std::vector<PoolWorker> workers;
  const Workers& all = engine.workers();
  for (const WorkerEntry* entry : all.Present()) {
    if (!entry->live() || all.marks().Find(entry->row.name) != nullptr) continue;
    PoolWorker& worker = workers.emplace_back();
    worker.free = entry->Room(false);
    worker.whole = HealthyRoom(entry->row);
    const auto found = allocations.find(entry->row.name);
    if (found != allocations.end()) worker.allocation = found->second;
  }
  return workers;
}

}  // namespace winnow
