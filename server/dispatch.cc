#include "server/dispatch.h"

#include <set>
#include <tuple>

#include "scheduler/decide.h"
#include "scheduler/suggest.h"

namespace winnow {
namespace {

enum class Placed { kYes, kNoWork, kNoRoom };

// There is no work, unless the job's model knows some. A gang's is asked before there is room for all of it:
// while it thought, others would take that room, and only what is to be placed can be kept waiting.
Placed AskModel(Jobs& jobs, OpenJob& job, Cluster& cluster) {
  if (WantsSuggestion(job.state) && cluster.CouldHold(job.state.spec().nodes)) jobs.AskModel(job);
  return Placed::kNoWork;
}

Placed PlaceOne(Jobs& jobs, OpenJob& job, Cluster& cluster) {
  while (true) {
    std::optional<Admission> admission = Admit(job.state);
    if (!admission) return AskModel(jobs, job, cluster);
    bool ends = admission->decision && std::holds_alternative<TrialEnded>(*admission->decision);
    if (!ends) {
      const GangRequest gang = cluster.Gang(job, admission->trial, admission->from);
      std::optional<std::vector<std::string>> workers = Place(cluster.Rooms(), gang);
      if (!workers) return Placed::kNoRoom;
      if (admission->from > 0 && !cluster.Share(*workers, gang.storage_id)) {
        // Then it has to train all again, which the limits must allow: it is admitted anew.
        if (admission->decision) cluster.Observe(job, ToBody(*admission->decision));
        cluster.Observe(job, CheckpointLost{admission->trial});
        continue;
      }
      if (admission->decision) cluster.Observe(job, ToBody(*admission->decision));
      cluster.StartAttempt(job, admission->trial, admission->from, admission->to, *workers);
      return Placed::kYes;
    }
    cluster.Observe(job, ToBody(*admission->decision));
  }
}

}  // namespace

void Dispatch(Jobs& jobs, Cluster& cluster) {
  std::set<std::tuple<bool, int64_t, int64_t>> order;  // not kept waiting, slots held, key
  for (const auto& [key, job] : jobs.all()) {
    if (job->state.ended() || job->external()) continue;
    order.emplace(!job->kept_waiting, cluster.LiveAttempts(*job) * job->state.spec().nodes, key);
  }
  while (!order.empty() && !cluster.Rooms().empty()) {
    auto [fresh, slots, key] = *order.begin();
    order.erase(order.begin());
    OpenJob& job = *jobs.FindKey(key);
    Placed placed = PlaceOne(jobs, job, cluster);
    bool could = placed == Placed::kNoRoom && cluster.CouldHold(job.state.spec().nodes);
    job.kept_waiting = could;
    if (could) return;
    if (placed == Placed::kYes) order.emplace(true, slots + job.state.spec().nodes, key);
  }
}

}  // namespace winnow
