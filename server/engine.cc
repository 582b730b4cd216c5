#include "server/engine.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "server/dispatch.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

Engine::Engine(Store& store, EngineOptions options)
    : context_(store, std::move(options)), desk_(context_), asks_(context_) {}

absl::Status Engine::Load() {
  context_.deadlines = Deadlines();
  context_.failure = absl::OkStatus();
  jobs_ = std::make_unique<Jobs>(context_);
  cluster_ = std::make_unique<Cluster>(context_, *jobs_);
  attempts_ = std::make_unique<ClientAttempts>(context_, *jobs_, *cluster_);
  absl::Status status = jobs_->Load();
  if (!status.ok()) return status;
  attempts_->Load();
  return cluster_->Load();
}

absl::StatusOr<std::string> Engine::CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id,
                                              const WarmStart& start) {
  return jobs_->Create(spec, request_id, start);
}

absl::Status Engine::StopJob(const std::string& id, const std::string& reason) {
  OpenJob* job = jobs_->Find(id);
  if (job == nullptr) {
    absl::StatusOr<std::optional<JobRow>> row = context_.store.jobs.Find(id);
    if (!row.ok()) return row.status();
    return *row ? absl::OkStatus() : absl::NotFoundError(fmt::format("there is no job \"{}\"", id));
  }
  if (!job->state.stop_requested() && !job->state.ended()) cluster_->Observe(*job, StopRequested{reason});
  return absl::OkStatus();
}

absl::Status Engine::DeleteJob(const std::string& id) { return jobs_->Delete(id); }

std::vector<v1::Worker> Engine::ListWorkers(bool include_gone) const {
  std::vector<v1::Worker> list;
  for (const auto& [id, worker] : cluster_->workers()) {
    if (!include_gone && !worker.present()) continue;
    v1::Worker& message = list.emplace_back();
    message.set_id(id);
    message.set_name(worker.row.name);
    message.set_host(worker.row.host);
    message.set_slots(worker.row.slots);
    message.set_used_slots(static_cast<int32_t>(worker.held.size()));
    message.set_version(worker.row.version);
    message.set_state(worker.live()                ? v1::Worker::LIVE
                      : worker.present()           ? v1::Worker::LEAVING
                      : worker.row.state == "lost" ? v1::Worker::LOST
                                                   : v1::Worker::GONE);
    *message.mutable_last_sync_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.last_sync_us);
    *message.mutable_register_time() = TimeUtil::MicrosecondsToTimestamp(worker.row.register_us);
    for (const auto& [assignment, held] : worker.held) message.add_assignment_ids(assignment);
  }
  return list;
}

void Engine::TakeSuggestion(int64_t key, const std::optional<Suggested>& answer) {
  OpenJob* job = jobs_->FindKey(key);
  if (job == nullptr) return;
  job->awaits_suggestion = false;
  if (answer && jobs_->IsWanted(*job, *answer)) cluster_->Observe(*job, *answer);
}

void Engine::Begin() { context_.failure = absl::OkStatus(); }

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
        cluster_->Lose(*worker, fmt::format("worker {} was not heard of for {:.1f} s", worker->row.name,
                                            static_cast<double>(context_.options.lease_us) / 1e6));
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
    case Deadlines::Kind::kAsk:
      asks_.WaitOver(std::stoll(subject));
      break;
  }
}

void Engine::FireDeadlines() {
  // What falls due may let others fall due: an attempt that is lost can use up a job's node time.
  for (auto due = context_.deadlines.TakeDue(context_.steady_us()); !due.empty();
       due = context_.deadlines.TakeDue(context_.steady_us())) {
    for (const auto& [kind, subject] : due) Fire(kind, subject);
  }
}

absl::Status Engine::Finish() {
  if (context_.failure.ok()) Dispatch(*jobs_, *cluster_);
  if (context_.failure.ok()) asks_.Serve(*jobs_, *attempts_);
  if (context_.failure.ok()) jobs_->Flush();
  return context_.failure;
}

void Engine::Committed() {
  jobs_->ForgetEnded();
  desk_.Answer(*cluster_);
  asks_.Answer();
}

void Engine::RolledBack(const absl::Status& status) {
  RefuseAll(
      absl::UnavailableError(fmt::format("not recorded, send it again: {}", std::string(status.message()))));
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
