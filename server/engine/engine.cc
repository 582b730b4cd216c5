#include "server/engine/engine.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "base/status_text.h"
#include "server/engine/dispatch.h"
#include "server/engine/feasible.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

namespace {

v1::Worker::Scheduling SchedulingOf(const std::string& mark) {
  return mark == "cordoned"   ? v1::Worker::CORDONED
         : mark == "draining" ? v1::Worker::DRAINING
                              : v1::Worker::QUARANTINED;
}

}  // namespace

Engine::Engine(Store& store, EngineOptions options)
    : context_(store, std::move(options)),
      artifacts_(context_, context_.options.blobs),
      usage_(context_),
      desk_(context_),
      asks_(context_) {
  context_.artifacts = &artifacts_;
  context_.usage = &usage_;
}

absl::Status Engine::Load() {
  context_.deadlines = Deadlines();
  context_.failure = absl::OkStatus();
  usage_.Clear();
  jobs_ = std::make_unique<Jobs>(context_);
  cluster_ = std::make_unique<Cluster>(context_, *jobs_);
  attempts_ = std::make_unique<ClientAttempts>(context_, *jobs_, *cluster_);
  absl::Status status = jobs_->Load();
  if (!status.ok()) return status;
  attempts_->Load();
  if (status = artifacts_.Load(); !status.ok()) return status;
  if (status = cluster_->Load(); !status.ok()) return status;
  return artifacts_.LoadWanted(*jobs_, *cluster_);
}

absl::StatusOr<std::string> Engine::CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id,
                                              const WarmStart& start, const std::string& owner) {
  return jobs_->Create(spec, request_id, start, owner,
                       [&] { return Fits(spec, *cluster_, context_.options.declared); });
}

absl::Status Engine::StopJob(const std::string& id, const Requester& by) {
  OpenJob* job = jobs_->Find(id);
  if (job == nullptr) {
    absl::StatusOr<std::optional<JobRow>> row = context_.store.jobs.Find(id);
    if (!row.ok()) return row.status();
    return *row ? by.MayChange(id, (*row)->owner) : absl::NotFoundError(fmt::format("there is no job \"{}\"", id));
  }
  if (absl::Status mine = by.MayChange(id, job->row.owner); !mine.ok()) return mine;
  if (!job->state.stop_requested() && !job->state.ended()) cluster_->Observe(*job, StopRequested{by.StopReason()});
  return absl::OkStatus();
}

absl::Status Engine::DeleteJob(const std::string& id, const Requester& by) { return jobs_->Delete(id, by); }

std::vector<v1::Worker> Engine::ListWorkers(bool include_gone) const {
  std::vector<v1::Worker> list;
  for (const auto& [id, worker] : cluster_->workers()) {
    if (!include_gone && !worker.present()) continue;
    v1::Worker& message = list.emplace_back();
    message.set_id(id);
    message.set_name(worker.row.name);
    message.set_host(worker.row.host);
    message.set_slots(worker.row.slots);
    message.set_version(worker.row.version);
    message.set_state(worker.live()                ? v1::Worker::LIVE
                      : worker.present()           ? v1::Worker::LEAVING
                      : worker.row.state == "lost" ? v1::Worker::LOST
                                                   : v1::Worker::GONE);
    message.mutable_labels()->insert(worker.row.labels.begin(), worker.row.labels.end());
    message.set_cpus(worker.row.cpus);
    message.set_memory_gib(worker.row.memory_gib);
    message.set_limits(worker.row.limits);
    const RankShape used = worker.Used();
    message.set_used_slots(used.slots);
    message.set_used_cpus(used.cpus);
    message.set_used_memory_gib(used.memory_gib);
    if (const UsageDesk::Newest* host = worker.present() ? usage_.Find(worker.row.name) : nullptr) {
      message.set_host_cpu(host->cpu);
      message.set_host_memory(host->memory);
    }
    if (const WorkerMark* mark = cluster_->marks().Find(worker.row.name)) {
      message.set_scheduling(SchedulingOf(mark->scheduling));
      message.set_scheduling_reason(mark->reason);
    }
    *message.mutable_last_sync_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.last_sync_us);
    *message.mutable_register_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.register_us);
    for (const auto& [assignment, held] : worker.held) message.add_assignment_ids(assignment);
  }
  return list;
}

absl::StatusOr<v1::Worker> Engine::SetWorkerScheduling(const v1::SetWorkerSchedulingRequest& request) {
  const char* scheduling = request.scheduling() == v1::Worker::OPEN       ? "open"
                           : request.scheduling() == v1::Worker::CORDONED ? "cordoned"
                           : request.scheduling() == v1::Worker::DRAINING ? "draining"
                                                                          : nullptr;
  if (scheduling == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("scheduling: {} is not valid; expected OPEN, CORDONED or DRAINING",
                    v1::Worker::Scheduling_Name(request.scheduling())));
  }
  absl::Status status = cluster_->SetScheduling(request.name(), scheduling, request.reason());
  if (!status.ok()) return status;
  // The newest of that name.
  v1::Worker newest;
  for (v1::Worker& worker : ListWorkers(true)) {
    const bool newer = TimeUtil::TimestampToMicroseconds(worker.register_time()) >=
                       TimeUtil::TimestampToMicroseconds(newest.register_time());
    if (worker.name() == request.name() && newer) newest = std::move(worker);
  }
  return newest;
}

void Engine::TakeSuggestion(int64_t key, const std::optional<Suggested>& answer) {
  OpenJob* job = jobs_->FindKey(key);
  if (job == nullptr) return;
  job->awaits_suggestion = false;
  if (answer && jobs_->IsWanted(*job, *answer)) cluster_->Observe(*job, *answer);
}

void Engine::Begin() {
  context_.failure = absl::OkStatus();
  artifacts_.Begin();
}

void Engine::NodeTimeOver(OpenJob& job) {
  if (job.state.closing() || job.state.ended()) return;
  if (job.NodeTimeUs(context_.wall_us()) < job.state.spec().limits.max_node_time_us) {
    jobs_->WatchNodeTime(job);  // the wall clock was set back
  } else {
    cluster_->Observe(job, TimeLimitReached{TimeLimit::kNode});
  }
}

void Engine::Fire(Deadlines::Kind kind, const std::string& subject) {
  switch (kind) {
    case Deadlines::Kind::kHold:
      desk_.HoldExpired(subject);
      break;
    case Deadlines::Kind::kLease:
      if (WorkerEntry* worker = cluster_->FindWorker(subject)) {
        const std::string name = worker->row.name;
        const std::string why = fmt::format("worker {} was not heard of for {:.1f} s", name,
                                            static_cast<double>(context_.options.lease_us) / 1e6);
        cluster_->Lose(*worker, why);
        cluster_->marks().NoteTrouble(name, WorkerMarks::Trouble::kLost, why);
      }
      break;
    case Deadlines::Kind::kWallTime:
      if (OpenJob* job = jobs_->Find(subject)) {
        if (!job->state.ended()) cluster_->Observe(*job, TimeLimitReached{TimeLimit::kWall});
      }
      break;
    case Deadlines::Kind::kNodeTime:
      if (OpenJob* job = jobs_->Find(subject)) NodeTimeOver(*job);
      break;
    case Deadlines::Kind::kClientLease:
      attempts_->LeaseExpired(subject);
      break;
    case Deadlines::Kind::kQuarantine:
      cluster_->marks().EndQuarantine(subject);
      break;
    case Deadlines::Kind::kAsk:
      asks_.WaitOver(std::stoll(subject));
      break;
  }
}

void Engine::RenewLeases() {
  for (const auto& [id, worker] : cluster_->workers()) {
    if (worker.present()) cluster_->RenewLease(*cluster_->FindWorker(id));
  }
  attempts_->Load();
}

void Engine::FireDeadlines(int64_t now_us) {
  // What falls due may let others fall due: an attempt that is lost can use up a job's node time.
  for (auto due = context_.deadlines.TakeDue(now_us); !due.empty();
       due = context_.deadlines.TakeDue(now_us)) {
    for (const auto& [kind, subject] : due) Fire(kind, subject);
  }
}

absl::Status Engine::Finish() {
  if (context_.failure.ok()) Dispatch(*jobs_, *cluster_);
  if (context_.failure.ok()) asks_.Serve(*jobs_, *attempts_);
  if (context_.failure.ok()) AskForModels();
  if (context_.failure.ok()) jobs_->Flush();
  return context_.failure;
}

absl::Status Engine::AskModel(const v1::GetArtifactRequest& request) {
  std::set<std::string> asked;
  absl::Status status = artifacts_.AskModel(*jobs_, *cluster_, request, asked);
  for (const std::string& worker : asked) desk_.HoldExpired(worker);
  return status;
}

void Engine::AskForModels() {
  std::set<std::string> asked;
  artifacts_.Settle(*jobs_, *cluster_, asked);
  for (const std::string& worker : asked) desk_.HoldExpired(worker);
}

void Engine::Committed() {
  artifacts_.Committed();
  for (const auto& [key, job] : jobs_->all()) {
    if (job->state.ended()) ++ended_jobs_[job->row.state];
  }
  jobs_->ForgetEnded();
  for (const int64_t job : jobs_->gone) cluster_->ForgetJob(job);
  desk_.Answer(*cluster_);
  asks_.Answer();
}

void Engine::RolledBack(const absl::Status& status) {
  RefuseAll(absl::UnavailableError(MessageOf(status)));
  context_.changed.clear();
}

void Engine::StopHolding() {
  const absl::Status stopping = absl::UnavailableError("the server is stopping");
  desk_.StopHolding();
  desk_.RefuseAll(stopping);
  asks_.StopHolding(*jobs_, *attempts_);
}

void Engine::RefuseAll(const absl::Status& status) {
  desk_.RefuseAll(status);
  asks_.RefuseAll(status);
}

}  // namespace winnow
