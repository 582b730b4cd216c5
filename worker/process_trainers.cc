#include "worker/process_trainers.h"

#include <utility>

#include "fmt/format.h"
#include "worker/kept_trainer.h"
#include "worker/trial_directories.h"

namespace winnow {

ProcessTrainers::ProcessTrainers(EventLoop* loop, TrainerPlace place, PortRange ports,
                                 CheckpointKeeper* keeper)
    : loop_(loop), place_(std::move(place)), range_(ports), keeper_(keeper) {}

ProcessTrainers::~ProcessTrainers() { *alive_ = false; }

void ProcessTrainers::Prepare(const v1::Assignment& assignment, PrepareDone done) {
  loop_->Post([this, alive = alive_, assignment, done = std::move(done)] {
    if (*alive) MakeFolders(assignment, done);
  });
}

void ProcessTrainers::MakeFolders(const v1::Assignment& assignment, const PrepareDone& done) {
  // Ranks of a trial share the folder, and rank 0 empties it for all.
  const auto directories = MakeTrialDirectories(place_.shared, assignment.job_id(), assignment.trial(),
                                                !assignment.resumes() && assignment.rank() == 0);
  if (!directories.ok()) {
    done(directories.status());
  } else if (!assignment.has_restore()) {
    done(TakePort(assignment));
  } else if (keeper_ == nullptr) {
    done(absl::UnavailableError(
        "the trial's checkpoint is in the artifact store, which this worker does not use"));
  } else {
    keeper_->Restore(assignment, directories->checkpoint,
                     [this, alive = alive_, assignment, done](const absl::Status& status) {
                       if (*alive) done(status.ok() ? TakePort(assignment) : status);
                     });
  }
}

void ProcessTrainers::AbandonPrepare(const std::string& assignment_id) {
  ports_.erase(assignment_id);
  if (keeper_ != nullptr) keeper_->AbandonRestore(assignment_id);
}

absl::StatusOr<Trainers::Prepared> ProcessTrainers::TakePort(const v1::Assignment& assignment) {
  if (assignment.rank() != 0) return Prepared{};
  std::optional<PortLease> port = PortLease::Take(range_.first, range_.count);
  if (!port.has_value()) {
    return absl::ResourceExhaustedError(
        fmt::format("no port from {} to {} is free for the ranks to meet; name others by --rendezvous-port",
                    range_.first, range_.first + range_.count - 1));
  }
  Prepared prepared{port->port()};
  ports_.insert_or_assign(assignment.id(), *std::move(port));
  return prepared;
}

absl::StatusOr<std::unique_ptr<Trainer>> ProcessTrainers::Start(const v1::Assignment& assignment,
                                                                Trainer::Events events) {
  const bool keeps = keeper_ != nullptr && assignment.keep_checkpoints() && assignment.resumes();
  std::unique_ptr<KeptTrainer> kept;
  if (keeps) {
    kept = std::make_unique<KeptTrainer>(keeper_, assignment);
    events = kept->Wrap(std::move(events));
  }
  const std::string id = assignment.id();
  const auto lease = ports_.find(id);
  const int port = lease == ports_.end() ? 0 : lease->second.port();
  auto run =
      TrainerRun::Start(loop_, place_, assignment, port,
                        {std::move(events.report), std::move(events.log),
                         [this, alive = alive_, id, ended = std::move(events.ended)](v1::Outcome outcome) {
                           if (*alive) ports_.erase(id);
                           ended(std::move(outcome));
                         }});
  if (!run.ok()) {
    ports_.erase(id);
    return run.status();
  }
  if (!keeps) return std::unique_ptr<Trainer>(*std::move(run));
  const auto directories = NameTrialDirectories(place_.shared, assignment.job_id(), assignment.trial());
  if (!directories.ok()) return directories.status();
  kept->Watch(*std::move(run), directories->checkpoint);
  return std::unique_ptr<Trainer>(std::move(kept));
}

void ProcessTrainers::StoreModel(const v1::ModelWanted& wanted) {
  const auto directories = NameTrialDirectories(place_.shared, wanted.job_id(), wanted.trial());
  if (keeper_ != nullptr && directories.ok()) keeper_->StoreModel(wanted, directories->model);
}

}  // namespace winnow
