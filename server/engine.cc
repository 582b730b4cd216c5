#include "server/engine.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "server/dispatch.h"

namespace winnow {

using google::protobuf::util::TimeUtil;

Engine::Engine(Store& store, EngineOptions options) : context_(store, std::move(options)), desk_(context_) {}

absl::Status Engine::Load() {
  context_.deadlines = Deadlines();
  context_.failure = absl::OkStatus();
  jobs_ = std::make_unique<Jobs>(context_);
  cluster_ = std::make_unique<Cluster>(context_, *jobs_);
  absl::Status status = jobs_->Load();
  if (!status.ok()) return status;
  return cluster_->Load();
}

absl::StatusOr<std::string> Engine::CreateJob(const v1::TuningJobSpec& spec, const std::string& request_id) {
  return jobs_->Create(spec, request_id);
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

void Engine::Begin() { context_.failure = absl::OkStatus(); }

void Engine::FireDeadlines() {
  for (const auto& [kind, subject] : context_.deadlines.TakeDue(context_.steady_us())) {
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
          if (!job->state.ended()) cluster_->Observe(*job, TimeLimitReached{});
        }
        break;
    }
  }
}

absl::Status Engine::Finish() {
  if (context_.failure.ok()) Dispatch(*jobs_, *cluster_);
  if (context_.failure.ok()) jobs_->Flush();
  return context_.failure;
}

void Engine::Committed() {
  jobs_->ForgetEnded();
  desk_.Answer(*cluster_);
}

void Engine::RolledBack(const absl::Status& status) {
  desk_.RefuseAll(
      absl::UnavailableError(fmt::format("not recorded, send it again: {}", std::string(status.message()))));
  context_.changed.clear();
}

void Engine::StopHolding(const absl::Status& status) {
  desk_.StopHolding();
  desk_.RefuseAll(status);
}

}  // namespace winnow
