#include "server/dispatch.h"

#include <set>
#include <tuple>

#include "scheduler/decide.h"

namespace winnow {
namespace {

enum class Placed { kYes, kNoWork, kNoRoom };

Placed PlaceOne(OpenJob& job, Cluster& cluster) {
  while (true) {
    std::optional<Admission> admission = Admit(job.state);
    if (!admission) return Placed::kNoWork;
    bool ends = admission->decision && std::holds_alternative<TrialEnded>(*admission->decision);
    if (!ends) {
      std::optional<std::vector<std::string>> workers =
          Place(cluster.Rooms(), cluster.Gang(job, admission->trial, admission->from));
      if (!workers) return Placed::kNoRoom;
      if (admission->decision) cluster.Observe(job, ToBody(*admission->decision));
      cluster.StartAttempt(job, admission->trial, admission->from, admission->to, *workers);
      return Placed::kYes;
    }
    cluster.Observe(job, ToBody(*admission->decision));
  }
}

}  // namespace

void Dispatch(Jobs& jobs, Cluster& cluster) {
  if (cluster.Rooms().empty()) return;
  std::set<std::tuple<int64_t, int64_t>> order;  // slots held, key
  for (const auto& [key, job] : jobs.all()) {
    if (!job->state.ended()) order.emplace(cluster.LiveAttempts(*job) * job->state.spec().nodes, key);
  }
  while (!order.empty()) {
    auto [slots, key] = *order.begin();
    order.erase(order.begin());
    OpenJob& job = *jobs.FindKey(key);
    switch (PlaceOne(job, cluster)) {
      case Placed::kYes:
        order.emplace(slots + job.state.spec().nodes, key);
        break;
      case Placed::kNoWork:
        break;
      case Placed::kNoRoom:
        if (cluster.CouldHold(job.state.spec().nodes)) return;
        break;
    }
  }
}

}  // namespace winnow
