#include "server/reads/wait_reasons.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "scheduler/decide.h"
#include "scheduler/suggest.h"
#include "server/engine/feasible.h"
#include "server/engine/workers.h"
#include "spec/cluster.h"

namespace winnow {

absl::Status WaitReasons::LoadUses(const std::string& project) {
  if (read_.empty()) {
    if (absl::Status status = stored_.Load(store_.artifacts); !status.ok()) return status;
  }
  if (!read_.insert(project).second) return absl::OkStatus();
  const absl::StatusOr<std::vector<JobRow>> open = store_.jobs.Open();
  if (!open.ok()) return open.status();
  for (const JobRow& job : *open) {
    if (job.project != project) continue;
    const absl::StatusOr<const JobView*> view = views_.Get(job);
    if (!view.ok()) return view.status();
    if ((*view)->spec.trainer().external()) continue;
    uses_.push_back(UseOf(job.project, job.owner, ShapeOf((*view)->spec, job.project), (*view)->state));
  }
  return book_.Load(false, uses_, now_us_);
}

absl::StatusOr<std::string> WaitReasons::QuotaReason(const JobRow& row, const QuotaUse& more) {
  if (!quotas_read_) {
    if (absl::Status status = book_.Load(false, {}, now_us_); !status.ok()) return status;
    quotas_read_ = true;
  }
  const bool limited = std::any_of(book_.all().begin(), book_.all().end(), [&row](const auto& entry) {
    return entry.first.first == row.project && entry.second.row.quota.limits();
  });
  if (!limited) return "";
  if (absl::Status status = LoadUses(row.project); !status.ok()) return status;
  const std::optional<QuotaStop> stop = book_.Forbidden(row.project, row.owner, more);
  return stop ? TextOf(*stop, now_us_) : "";
}

absl::StatusOr<std::string> WaitReasons::Of(const JobView& job) {
  if (job.spec.trainer().external()) return "Waiting for a client to ask for a trial.";
  const JobRow row = job.row;
  const absl::StatusOr<std::vector<WorkerRow>> present = store_.workers.List(false);
  if (!present.ok()) return present.status();
  const absl::StatusOr<std::vector<WorkerMark>> marks = store_.workers.Marks();
  if (!marks.ok()) return marks.status();
  std::vector<WorkerRoom> open;
  bool closed = false, of_others = false;
  for (const WorkerRow& worker : *present) {
    const bool marked = std::any_of(marks->begin(), marks->end(),
                                    [&worker](const WorkerMark& mark) { return mark.name == worker.name; });
    const bool may_run = MayRun(worker.projects, row.project);
    if (worker.state != WorkerState::kLive) continue;
    if (!marked && may_run) open.push_back(HealthyRoom(worker));
    closed = closed || (marked && may_run);
    of_others = of_others || !may_run;
  }
  const std::optional<Admission> next = Admit(job.state);
  const RankShape shape = ShapeOf(job.spec, row.project);
  const int32_t nodes = next && next->trial > 0 ? NodesOf(job.state, *next) : job.state.spec().LeastNodes();
  const bool lacks_room = CapacityOf(open, shape) < nodes;
  const bool wants = WantsSuggestion(job.state);
  if (next || wants) {
    const QuotaUse more = UseOfStart(shape, nodes, job.state);
    const absl::StatusOr<std::string> quota = QuotaReason(row, more);  // `job` is gone from here on
    if (!quota.ok() || !quota->empty()) return quota;
  }
  if (!next && !lacks_room) return wants ? "Waiting for the search model's suggestion." : "";
  if (open.empty() && closed)
    return "Waiting for a worker: those present are cordoned, draining or quarantined.";
  if (open.empty() && of_others && row.project.empty())
    return "Waiting for a worker: none that runs jobs of the default project is present.";
  return WaitsFor(nodes, shape, open);
}

}  // namespace winnow
