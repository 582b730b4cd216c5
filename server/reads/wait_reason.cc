#include "server/reads/wait_reason.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "scheduler/decide.h"
#include "scheduler/suggest.h"
#include "server/engine/feasible.h"
#include "spec/cluster.h"

namespace winnow {

absl::StatusOr<std::string> WaitReason(Store& store, const JobView& job) {
  if (job.spec.trainer().external()) return "Waiting for a client to ask for a trial.";
  absl::StatusOr<std::vector<WorkerRow>> present = store.workers.List(false);
  if (!present.ok()) return present.status();
  absl::StatusOr<std::vector<WorkerMark>> marks = store.workers.Marks();
  if (!marks.ok()) return marks.status();
  std::vector<WorkerRoom> open;
  for (const WorkerRow& worker : *present) {
    const bool marked = std::any_of(marks->begin(), marks->end(),
                                    [&worker](const WorkerMark& mark) { return mark.name == worker.name; });
    if (worker.state == WorkerState::kLive && !marked) open.push_back(WholeRoom(worker));
  }
  const std::optional<Admission> next = Admit(job.state);
  const RankShape shape = ShapeOf(job.spec);
  const int32_t nodes = next && next->trial > 0 ? NodesOf(job.state, *next) : job.state.spec().LeastNodes();
  if (next || CapacityOf(open, shape) < nodes) return WaitsFor(nodes, shape, open);
  return WantsSuggestion(job.state) ? "Waiting for the search model's suggestion." : "";
}

}  // namespace winnow
