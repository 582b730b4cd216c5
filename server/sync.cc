#include "server/sync.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>

#include "server/hub.h"

namespace winnow {
namespace {

using google::protobuf::util::TimeUtil;

constexpr size_t kMaxIdLength = 128;
constexpr size_t kFolderIdLength = 16;
constexpr int32_t kMaxSlots = 10'000;
constexpr int64_t kMaxHoldUs = 60'000'000;

absl::Status CheckRequest(const v1::SyncRequest& request) {
  auto invalid = [](const char* field, const std::string& value, const char* expected) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} is not valid; expected {}", field, value, expected));
  };
  if (request.worker_id().empty() || request.worker_id().size() > kMaxIdLength) {
    return invalid("worker_id", '"' + request.worker_id() + '"', "1 to 128 characters");
  }
  if (request.name().empty() || request.name().size() > kMaxIdLength) {
    return invalid("name", '"' + request.name() + '"', "1 to 128 characters");
  }
  if (request.slots() < 1 || request.slots() > kMaxSlots) {
    return invalid("slots", std::to_string(request.slots()), "1 to 10000");
  }
  if (request.rendezvous_port() < 0 || request.rendezvous_port() + request.slots() > 65536) {
    return invalid("rendezvous_port", std::to_string(request.rendezvous_port()),
                   "0, or a port after which a port for each slot is left");
  }
  return absl::OkStatus();
}

// A worker's id begins with the id of its work folder, which one process at a time can hold: equal ones are
// one worker, of which only the newer can still run.
bool SameFolder(const std::string& one, const std::string& other) {
  return one.size() > kFolderIdLength && one.compare(0, kFolderIdLength, other, 0, kFolderIdLength) == 0;
}

// Microseconds since the epoch; 0 if it was not given.
int64_t Micros(bool given, const google::protobuf::Timestamp& time) {
  return given ? TimeUtil::TimestampToMicroseconds(time) : 0;
}

RankEnd ToRankEnd(const v1::Outcome& outcome, bool asked_to_stop) {
  RankEnd end;
  end.reason = outcome.reason();
  end.start_us = Micros(outcome.has_start_time(), outcome.start_time());
  end.end_us =
      end.start_us > 0 ? std::max(end.start_us, Micros(outcome.has_end_time(), outcome.end_time())) : 0;
  switch (outcome.kind()) {
    case v1::Outcome::FINISHED:
      end.outcome = "finished";
      break;
    case v1::Outcome::FAILED:
      end.outcome = "failed";
      if (end.reason.empty()) end.reason = fmt::format("exit code {}", outcome.exit_code());
      break;
    case v1::Outcome::HANDED_BACK:
      end.outcome = "handed_back";
      break;
    default:
      end.outcome = asked_to_stop ? "stopped" : "lost";
      if (!asked_to_stop && end.reason.empty()) end.reason = "its worker stopped it unasked";
  }
  return end;
}

}  // namespace

// REQUIRES `holder` is present: its lease has not run out, counted from the server's start if that is later.
absl::Status SyncDesk::NameInUse(const WorkerEntry& holder) const {
  int64_t silent_us = std::max<int64_t>(0, context_.wall_us() - holder.row.last_sync_us);
  std::string heard = holder.row.last_sync_us >= started_us_
                          ? fmt::format("last heard of {} s ago", silent_us / 1'000'000)
                          : "not heard of since the server started";
  return absl::AlreadyExistsError(
      fmt::format("the name {} is in use by a live worker (on host {}, {}); give this one another --name",
                  holder.row.name, holder.row.host, heard));
}

absl::StatusOr<WorkerEntry*> SyncDesk::Admit(Cluster& cluster, const v1::SyncRequest& request) {
  absl::Status status = CheckRequest(request);
  if (!status.ok()) return status;
  WorkerEntry* worker = cluster.FindWorker(request.worker_id());
  if (worker == nullptr) {
    if (WorkerEntry* older = cluster.FindPresentByName(request.name())) {
      if (!SameFolder(request.worker_id(), older->row.id)) return NameInUse(*older);
      cluster.Lose(*older, fmt::format("worker {} was started anew", request.name()));
    }
    WorkerRow row;
    row.id = request.worker_id();
    row.state = "live";
    row.register_us = context_.wall_us();
    worker = &cluster.Register(std::move(row));
  } else if (worker->row.state == "lost" || (worker->row.state == "gone" && !request.leaving())) {
    return absl::FailedPreconditionError(fmt::format(
        "worker id {} of {} was given up; register under a new one", worker->row.id, worker->row.name));
  }
  WorkerRow row = worker->row;
  row.name = request.name();
  row.host = request.host();
  row.slots = request.slots();
  row.storage_id = request.storage_id();
  row.version = request.version();
  row.rendezvous_port = request.rendezvous_port();
  row.last_sync_us = context_.wall_us();
  bool leaves = request.leaving() && row.state == "live";
  if (leaves) row.state = "leaving";
  bool same = row.name == worker->row.name && row.host == worker->row.host &&
              row.slots == worker->row.slots && row.storage_id == worker->row.storage_id &&
              row.version == worker->row.version && row.rendezvous_port == worker->row.rendezvous_port &&
              row.state == worker->row.state;
  worker->row = std::move(row);
  if (!same) context_.Check(context_.store.workers.Put(worker->row));
  if (worker->present()) cluster.RenewLease(*worker);
  if (leaves) cluster.TakeBackUntold(*worker);
  return worker;
}

void SyncDesk::TakeReport(OpenJob& job, Cluster& cluster, const HeldAssignment& assignment,
                          const v1::Report& report) {
  const AssignmentRow& held = assignment.row;
  if (report.resource() < 1 || (held.resource_to > 0 && report.resource() > held.resource_to)) {
    ++refused_.beyond_budget;
    return;
  }
  int64_t now = context_.wall_us();
  int64_t time = Micros(report.has_time(), report.time());
  if (time <= 0 || time > now) time = now;
  ReportRow row{held.trial, held.attempt, report.resource(), "", 0, time, 0};
  const std::string& objective_metric = job.state.spec().objective_metric;
  const v1::MetricValue* objective = nullptr;
  for (const v1::MetricValue& metric : report.metrics()) {
    if (metric.name() == objective_metric) {
      if (objective == nullptr) objective = &metric;
      continue;
    }
    row.metric = metric.name();
    row.value = metric.value();
    if (!cluster.StoreMetric(job, row)) ++refused_.duplicate;
  }
  if (objective == nullptr) return;
  row.metric = objective_metric;
  row.value = objective->value();
  if (!cluster.ObserveReport(job, row)) ++refused_.duplicate;  // `assignment` may be gone now
}

void SyncDesk::TakeReports(Jobs& jobs, Cluster& cluster, WorkerEntry& worker,
                           const v1::SyncRequest& request) {
  for (const v1::Report& report : request.reports()) {
    HeldAssignment* assignment = cluster.FindAssignment(report.assignment_id());
    bool live = assignment != nullptr && assignment->row.worker == worker.row.id &&
                assignment->row.state == "wanted" && assignment->row.rank == 0;
    OpenJob* job = live ? jobs.FindKey(assignment->row.job) : nullptr;
    if (job == nullptr || job->state.trial(assignment->row.trial).ended()) {
      ++refused_.fenced;
      continue;
    }
    TakeReport(*job, cluster, *assignment, report);
  }
}

// What a process printed is kept even when its assignment is not live any more.
void SyncDesk::TakeLogs(Cluster& cluster, const v1::SyncRequest& request) {
  for (const v1::LogChunk& chunk : request.logs()) {
    int64_t key = 0;
    if (HeldAssignment* assignment = cluster.FindAssignment(chunk.assignment_id())) {
      key = assignment->row.key;
    } else {
      auto row = context_.Check(context_.store.assignments.Find(chunk.assignment_id()));
      if (!row) continue;  // of a job that was deleted
      key = row->key;
    }
    if (chunk.offset() < 0) continue;
    context_.Check(
        context_.store.logs.Append(key, chunk.stream(), chunk.offset(), chunk.data(), chunk.truncated()));
    context_.changed.insert(LogTopic(key));
  }
}

void SyncDesk::TakeOutcomes(Cluster& cluster, WorkerEntry& worker, const v1::SyncRequest& request) {
  std::set<std::string> stated;
  for (const v1::RunningAssignment& running : request.running()) {
    stated.insert(running.assignment_id());
    if (running.state() != v1::RunningAssignment::ENDED) continue;
    HeldAssignment* assignment = cluster.FindAssignment(running.assignment_id());
    if (assignment == nullptr || assignment->row.worker != worker.row.id) continue;
    context_.changed.insert(LogTopic(assignment->row.key));
    cluster.EndRank(*assignment, ToRankEnd(running.outcome(), assignment->row.state == "revoked"));
  }
  // What is not wanted and not there either is gone.
  std::vector<std::string> gone;
  for (const auto& [id, assignment] : worker.held) {
    if (assignment->row.state == "revoked" && stated.count(id) == 0) gone.push_back(id);
  }
  for (const std::string& id : gone) {
    if (HeldAssignment* assignment = cluster.FindAssignment(id)) {
      cluster.EndRank(*assignment, {"stopped", "it had not started", 0, 0});
    }
  }
}

void SyncDesk::Take(Jobs& jobs, Cluster& cluster, const v1::SyncRequest& request, SyncDone done) {
  absl::StatusOr<WorkerEntry*> admitted = Admit(cluster, request);
  if (!admitted.ok()) {
    refused_calls_.emplace_back(admitted.status(), std::move(done));
    return;
  }
  WorkerEntry& worker = **admitted;
  const std::string& id = worker.row.id;
  TakeReports(jobs, cluster, worker, request);
  TakeLogs(cluster, request);
  TakeOutcomes(cluster, worker, request);
  if (worker.row.state == "leaving" && worker.held.empty() && request.running().empty())
    cluster.Leave(worker);

  Call call;
  call.done = std::move(done);
  call.at_once = !request.reports().empty() || !request.logs().empty() || !worker.present();
  for (const v1::RunningAssignment& running : request.running()) {
    if (running.state() == v1::RunningAssignment::ENDED) call.at_once = true;
    call.stated.insert(running.assignment_id());
    if (running.state() == v1::RunningAssignment::RUNNING) call.running.insert(running.assignment_id());
  }
  int64_t hold = std::clamp<int64_t>(TimeUtil::DurationToMicroseconds(request.hold()), 0,
                                     std::min(kMaxHoldUs, context_.options.lease_us / 3));
  if (hold == 0 || !holding_) call.at_once = true;
  auto older = calls_.find(id);
  if (older != calls_.end()) older_.emplace_back(id, std::move(older->second.done));
  calls_[id] = std::move(call);
  cluster.attention.insert(id);
  context_.deadlines.Set(Deadlines::Kind::kHold, id, context_.steady_us() + hold);
}

bool SyncDesk::Differs(const Call& call, const WorkerEntry& worker) const {
  for (const auto& [id, assignment] : worker.held) {
    if (assignment->row.state == "wanted" && call.stated.count(id) == 0) return true;
  }
  return std::any_of(call.running.begin(), call.running.end(), [&](const std::string& id) {
    auto held = worker.held.find(id);
    return held == worker.held.end() || held->second->row.state != "wanted";
  });
}

v1::SyncResponse SyncDesk::Compose(WorkerEntry& worker) const {
  v1::SyncResponse response;
  for (const auto& [id, assignment] : worker.held) {
    if (assignment->row.state != "wanted") continue;
    *response.add_assignments() = assignment->message;
    assignment->told = true;
  }
  *response.mutable_next_interval() = TimeUtil::MicrosecondsToDuration(context_.options.lease_us / 3);
  *response.mutable_lease() = TimeUtil::MicrosecondsToDuration(context_.options.lease_us);
  return response;
}

void SyncDesk::Answer(Cluster& cluster) {
  for (auto& [status, done] : refused_calls_) done(status);
  refused_calls_.clear();
  auto refusal = [](const std::string& id) {
    return absl::FailedPreconditionError(
        fmt::format("worker id {} was given up; register under a new one", id));
  };
  for (auto& [id, done] : older_) {
    WorkerEntry* worker = cluster.FindWorker(id);
    worker->row.state == "lost" ? done(refusal(id)) : done(Compose(*worker));
  }
  older_.clear();
  std::set<std::string> looked_at;
  looked_at.swap(cluster.attention);
  looked_at.merge(cluster.dismissed);
  looked_at.insert(due_.begin(), due_.end());
  for (const std::string& id : looked_at) {
    auto found = calls_.find(id);
    if (found == calls_.end()) continue;
    WorkerEntry* worker = cluster.FindWorker(id);
    bool lost = worker->row.state == "lost";
    Call& call = found->second;
    if (!lost && holding_ && !call.at_once && due_.count(id) == 0 && !Differs(call, *worker)) continue;
    SyncDone done = std::move(call.done);
    calls_.erase(found);
    context_.deadlines.Clear(Deadlines::Kind::kHold, id);
    lost ? done(refusal(id)) : done(Compose(*worker));
  }
  cluster.dismissed.clear();
  due_.clear();
}

void SyncDesk::RefuseAll(const absl::Status& status) {
  for (auto& [refusal, done] : refused_calls_) done(status);
  for (auto& [id, done] : older_) done(status);
  for (auto& [id, call] : calls_) {
    context_.deadlines.Clear(Deadlines::Kind::kHold, id);
    call.done(status);
  }
  refused_calls_.clear();
  older_.clear();
  calls_.clear();
  due_.clear();
}

}  // namespace winnow
