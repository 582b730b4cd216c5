#include "server/engine/state_counts.h"

#include "server/engine/engine.h"

namespace winnow {

StateCounts CountState(Engine& engine) {
  StateCounts counts;
  // Also those of which there are none: what vanishes from a graph is not the same as 0.
  counts.workers[{"live", "open"}] = 0;
  for (const char* state : {"running", "stopping"}) counts.jobs[state] = 0;
  for (const char* state : {"completed", "stopped", "failed"}) counts.ended_jobs[state] = 0;
  for (const auto& [id, worker] : engine.workers().all()) {
    if (!worker.present()) continue;
    const WorkerMark* mark = engine.workers().marks().Find(worker.row.name);
    ++counts.workers[{TextOf(worker.row.state), mark == nullptr ? "open" : TextOf(mark->scheduling)}];
    counts.slots += worker.row.slots;
    counts.used_slots += worker.SlotsInUse();
  }
  JobTotals sum;
  for (const auto& [key, job] : engine.jobs().all()) {
    ++counts.jobs[job->row.state];
    if (const double cost = job->Cost(engine.context().wall_us()); cost > 0)
      counts.job_costs[job->row.id] = cost;
    const JobTotals& totals = job->state.totals();
    sum.pending += totals.pending;
    sum.running += totals.running;
    sum.paused += totals.paused;
    sum.completed += totals.completed;
    sum.pruned += totals.pruned;
    sum.cancelled += totals.cancelled;
    sum.failed += totals.failed;
  }
  counts.trials = {{"pending", sum.pending},     {"running", sum.running}, {"paused", sum.paused},
                   {"completed", sum.completed}, {"pruned", sum.pruned},   {"failed", sum.failed},
                   {"cancelled", sum.cancelled}};
  for (const auto& [state, number] : engine.ended_jobs()) counts.ended_jobs[state] = number;
  const ReportCounts& reports = engine.reports();
  counts.reports = {{"accepted", reports.accepted},
                    {"duplicate", reports.duplicate},
                    {"fenced", engine.refused().fenced},
                    {"beyond_budget", engine.refused().beyond_budget},
                    {"long_metric", engine.refused().long_metric}};
  return counts;
}

}  // namespace winnow
