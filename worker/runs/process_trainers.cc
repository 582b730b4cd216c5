#include "worker/runs/process_trainers.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "artifact/folder.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "winnow/v1/worker.pb.h"
#include "worker/data/channel_variables.h"
#include "worker/runs/failure_cause.h"
#include "worker/runs/secrets.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

TrainerPlace WithRemoval(TrainerPlace place, TaskThreads* removal) {
  place.removal = removal;
  return place;
}

// How a rank ends whose channels cannot be had. What is this machine's fault stays so.
absl::Status WithoutData(const absl::Status& status) {
  return absl::IsResourceExhausted(status) ? status
                                           : NotPreparedError(v1::Outcome::DATA_FAILED, MessageOf(status));
}

// A trainer of rank 0 with checkpoints in the artifact store. It reports its end once its newest checkpoint
// is stored or given up, so that the next attempt finds it.
class KeptTrainer : public RankRun {
 public:
  // `keeper` outlives it.
  KeptTrainer(CheckpointKeeper* keeper, v1::Assignment assignment);
  ~KeptTrainer() override;

  // Returns the events to pass to the trainer itself; they call `events`.
  Events Wrap(Events events);
  // REQUIRES: `trainer` has the events of Wrap, and nothing has run on the thread since.
  void Watch(std::unique_ptr<RankRun> trainer, const FolderName& checkpoints);

  void Stop(Why why) override;
  void Kill(Why why) override;
  v1::PartStart part_start() const override { return trainer_->part_start(); }

 private:
  void Ended(const v1::Outcome& outcome);
  int64_t LevelAt(const v1::Outcome& outcome) const;

  CheckpointKeeper* const keeper_;
  const v1::Assignment assignment_;
  Events events_;
  std::unique_ptr<RankRun> trainer_;
  int64_t reached_ = 0;  // highest level that it reported
};

KeptTrainer::KeptTrainer(CheckpointKeeper* keeper, v1::Assignment assignment)
    : keeper_(keeper), assignment_(std::move(assignment)) {}

KeptTrainer::~KeptTrainer() {
  trainer_ = nullptr;
  keeper_->Forget(assignment_.id());
}

RankRun::Events KeptTrainer::Wrap(Events events) {
  events_ = std::move(events);
  return {[this](v1::Report report) {
            reached_ = std::max(reached_, report.resource());
            events_.report(std::move(report));
          },
          events_.log, [this](const v1::Outcome& outcome) { Ended(outcome); }, events_.notice, events_.saves};
}

void KeptTrainer::Watch(std::unique_ptr<RankRun> trainer, const FolderName& checkpoints) {
  trainer_ = std::move(trainer);
  reached_ = 0;  // what it has told by now, earlier attempts have reached
  keeper_->Watch(assignment_, checkpoints);
}

// A trainer that stopped by itself after a request has saved the level it had reached.
int64_t KeptTrainer::LevelAt(const v1::Outcome& outcome) const {
  const int64_t from = assignment_.resource_from();
  if (outcome.kind() == v1::Outcome::FINISHED && assignment_.resource_to() > 0)
    return assignment_.resource_to();
  const bool saved = outcome.kind() == v1::Outcome::FINISHED || outcome.exit_code() == 0;
  return saved ? std::max(from, reached_) : from;
}

void KeptTrainer::Ended(const v1::Outcome& outcome) {
  keeper_->End(assignment_.id(), LevelAt(outcome), [ended = events_.ended, outcome] { ended(outcome); });
}

void KeptTrainer::Stop(Why why) {
  if (why == Why::kLeaving) keeper_->Hasten(assignment_.id());
  trainer_->Stop(why);
}

void KeptTrainer::Kill(Why why) {
  keeper_->Abandon(assignment_.id());
  trainer_->Kill(why);
}

}  // namespace

ProcessTrainers::ProcessTrainers(EventLoop* loop, TrainerPlace place, PortRange ports,
                                 CheckpointKeeper* keeper, SourceKeeper* sources, WarmLimits warm,
                                 ChannelKeeper* channels)
    : loop_(loop),
      place_(WithRemoval(std::move(place), &removal_)),
      range_(ports),
      keeper_(keeper),
      sources_(sources),
      channels_(channels),
      waiting_(loop, warm),
      parents_(loop, &place_, warm),
      folders_(place_.work, place_.shared) {
  if (sources_ != nullptr && place_.users != nullptr)
    sources_->TakeUsersBy([this](const FolderName& folder) { return TakeUser(folder); });
}

ProcessTrainers::~ProcessTrainers() { *alive_ = false; }

void ProcessTrainers::Prepare(const v1::Assignment& assignment, PrepareDone done) {
  loop_->Post([this, alive = alive_, assignment, done = std::move(done)] {
    if (*alive) MakeImage(assignment, done);
  });
}

// A waiting trainer holds its trial's user; where none is free, another trial or a setup needs it more.
absl::StatusOr<UserLease> ProcessTrainers::TakeUser(const FolderName& folder) {
  while (true) {
    auto user = place_.users->Take(folder);
    if (user.ok() || !absl::IsResourceExhausted(user.status()) || !waiting_.KillOne()) return user;
  }
}

void ProcessTrainers::MakeImage(const v1::Assignment& assignment, const PrepareDone& done) {
  if (!assignment.has_container()) return MakeSource(assignment, done);
  const std::string id = assignment.id();
  const auto made = [this, alive = alive_, assignment, id, done](absl::StatusOr<ContainerImage> image) {
    if (!*alive) return;
    if (image.ok()) {
      if (tell_preparing_) tell_preparing_(id, "");
      places_[id].image = *std::move(image);
      return MakeSource(assignment, done);
    }
    places_.erase(id);
    done(absl::IsFailedPrecondition(image.status())
             ? NotPreparedError(v1::Outcome::IMAGE_FAILED, MessageOf(image.status()))
             : image.status());
  };
  if (place_.containers == nullptr)
    return made(absl::FailedPreconditionError("this worker runs no containers"));
  place_.containers->images().Prepare(
      id, assignment.container(),
      [this, alive = alive_, id](const std::string& what) {
        if (*alive && tell_preparing_) tell_preparing_(id, what);
      },
      made);
}

// A setup runs in the image.
void ProcessTrainers::MakeSource(const v1::Assignment& assignment, const PrepareDone& done) {
  if (!assignment.has_source()) return MakeUser(assignment, done);
  const std::string id = assignment.id();
  const auto failed = [this, id, done](const absl::Status& status) {
    places_.erase(id);
    done(absl::IsAborted(status) ? NotPreparedError(v1::Outcome::SETUP_FAILED, MessageOf(status)) : status);
  };
  if (sources_ == nullptr) return failed(absl::UnavailableError("this worker runs no sources"));
  const auto told = std::make_shared<bool>(false);
  sources_->Prepare(
      InImage(assignment), place_.environment,
      [this, alive = alive_, id, told](const std::string& what) {
        *told = true;
        if (*alive && tell_preparing_) tell_preparing_(id, what);
      },
      [this, alive = alive_, assignment, id, told, done,
       failed](absl::StatusOr<std::shared_ptr<SourceLease>> source) {
        if (!*alive) return;
        if (!source.ok()) return failed(source.status());
        if (*told && tell_preparing_) tell_preparing_(id, "");
        places_[id].source = *std::move(source);
        MakeUser(assignment, done);
      });
}

// The assignment with the image that its rank has on this host, if it is to run in one.
v1::Assignment ProcessTrainers::InImage(v1::Assignment assignment) const {
  const auto place = places_.find(assignment.id());
  if (place == places_.end() || !place->second.image.has_value()) return assignment;
  assignment.mutable_container()->set_engine(std::string(ProgramOf(place->second.image->engine)));
  assignment.mutable_container()->set_image(place->second.image->reference);
  return assignment;
}

void ProcessTrainers::MakeUser(const v1::Assignment& assignment, const PrepareDone& done) {
  if (place_.users != nullptr) {
    const auto trial = NameTrialFolder(place_.shared, assignment.job_id(), assignment.trial());
    auto user = trial.ok() ? TakeUser(*trial) : trial.status();
    if (!user.ok()) {
      places_.erase(assignment.id());
      done(user.status());
      return;
    }
    places_[assignment.id()].user = std::make_shared<const UserLease>(*std::move(user));
  }
  MakeChannels(assignment, done);
}

// Files of the host are read for the job with the permissions of its trial's user.
void ProcessTrainers::MakeChannels(const v1::Assignment& assignment, const PrepareDone& done) {
  if (assignment.channels().empty()) return MakeFolders(assignment, done);
  const std::string id = assignment.id();
  const auto failed = [this, id, done](const absl::Status& status) {
    places_.erase(id);
    done(WithoutData(status));
  };
  if (channels_ == nullptr) return failed(absl::UnavailableError("this worker prepares no channels"));
  auto secrets = ReadSecrets(place_.secrets, place_.worker, assignment);
  if (!secrets.ok()) return failed(secrets.status());
  ChannelsWanted wanted{assignment, *std::move(secrets)};
  if (const auto& user = places_[id].user; user != nullptr) wanted.user = user->user();
  channels_->Prepare(
      std::move(wanted),
      [this, alive = alive_, id](std::string what) {
        if (*alive && tell_preparing_) tell_preparing_(id, std::move(what));
      },
      [this, alive = alive_, assignment, id, done,
       failed](absl::StatusOr<std::shared_ptr<PreparedChannels>> channels) {
        if (!*alive) return;
        if (!channels.ok()) return failed(channels.status());
        if (tell_preparing_) tell_preparing_(id, "");
        (*channels)->broken = [this, alive, id](const absl::Status& status) {
          if (*alive) ChannelBroken(id, status);
        };
        places_[id].channels = *std::move(channels);
        MakeFolders(assignment, done);
      });
}

// Otherwise the program would take what it has got for all of its data.
void ProcessTrainers::ChannelBroken(const std::string& id, const absl::Status& status) {
  const auto place = places_.find(id);
  if (place == places_.end() || place->second.broken.has_value()) return;
  place->second.broken = NotStartedOutcome(WithoutData(status));
  if (place->second.run != nullptr) place->second.run->Kill(RankRun::Why::kUnwanted);
}

void ProcessTrainers::MakeFolders(const v1::Assignment& assignment, const PrepareDone& done) {
  // The ranks of a trial share the folders; rank 0 empties them for all. What is there before a first attempt
  // is of another job with the same id: the server was set back to a backup that does not know it.
  Clearing clearing = Clearing::kNothing;
  if (assignment.rank() == 0 && assignment.attempt() <= 1) {
    const auto folder = NameTrialFolder(place_.shared, assignment.job_id(), assignment.trial());
    std::error_code error;
    if (folder.ok() && std::filesystem::exists(folder->path(), error)) clearing = Clearing::kEverything;
  } else if (assignment.rank() == 0 && !assignment.resumes() && !GoesOnSuspended(assignment)) {
    clearing = Clearing::kCheckpoint;
  }
  const auto make = [shared = place_.shared, job = assignment.job_id(), trial = assignment.trial(),
                     clearing] { return MakeTrialDirectories(shared, job, trial, clearing); };
  if (clearing == Clearing::kNothing) return UseFolders(assignment, make(), done);
  // There may be any number of files.
  beside_loop_.insert(assignment.id());
  emptying_.Post([this, alive = alive_, loop = loop_, make, assignment, done] {
    loop->Post([this, alive, directories = make(), assignment, done] {
      if (*alive && beside_loop_.erase(assignment.id()) > 0) UseFolders(assignment, directories, done);
    });
  });
}

void ProcessTrainers::UseFolders(const v1::Assignment& assignment,
                                 const absl::StatusOr<TrialDirectories>& directories,
                                 const PrepareDone& done) {
  const absl::Status marked = folders_.Mark(assignment.job_id(), assignment.job_mark());
  if (!marked.ok()) {
    places_.erase(assignment.id());
    done(marked);
  } else if (!directories.ok()) {
    places_.erase(assignment.id());
    done(directories.status());
  } else if (!assignment.has_restore() && !assignment.take_checkpoint()) {
    Give(assignment, done);
  } else if (keeper_ == nullptr) {
    places_.erase(assignment.id());
    done(absl::UnavailableError(
        "the trial's checkpoint is in the artifact store, which this worker does not use"));
  } else {
    const auto restored = [this, alive = alive_, assignment, done](const absl::Status& status) {
      if (!*alive) return;
      if (status.ok()) {
        Give(assignment, done);
      } else {
        places_.erase(assignment.id());
        done(status);
      }
    };
    const FolderName folder = InShared(directories->checkpoint);
    if (assignment.has_restore()) return keeper_->Restore(assignment, folder, restored);
    const auto origin = NameTrialDirectories(place_.shared, assignment.job_id(), assignment.origin());
    if (!origin.ok()) return restored(origin.status());
    keeper_->Copy(assignment, InShared(origin->checkpoint), folder, restored);
  }
}

// The last step: from now on the content of the folders belongs to the trainer's user.
void ProcessTrainers::Give(const v1::Assignment& assignment, const PrepareDone& done) {
  const auto place = places_.find(assignment.id());
  if (place == places_.end() || place->second.user == nullptr)
    return Given(absl::OkStatus(), assignment, done);
  // There may be any number of files.
  beside_loop_.insert(assignment.id());
  giving_.Post([this, alive = alive_, loop = loop_, shared = place_.shared, user = place->second.user,
                assignment, done] {
    const absl::Status status =
        GiveTrialDirectories(shared, assignment.job_id(), assignment.trial(), user->user());
    loop->Post([this, alive, status, assignment, done] {
      if (*alive && beside_loop_.erase(assignment.id()) > 0) Given(status, assignment, done);
    });
  });
}

void ProcessTrainers::Given(const absl::Status& status, const v1::Assignment& assignment,
                            const PrepareDone& done) {
  if (!status.ok()) {
    places_.erase(assignment.id());
    done(status);
    return;
  }
  auto prepared = TakePort(assignment);
  if (!prepared.ok()) places_.erase(assignment.id());
  done(std::move(prepared));
}

FolderName ProcessTrainers::InShared(const std::filesystem::path& folder) const {
  return {place_.shared, folder.lexically_relative(place_.shared)};
}

void ProcessTrainers::AbandonPrepare(const std::string& assignment_id) {
  places_.erase(assignment_id);
  beside_loop_.erase(assignment_id);
  if (sources_ != nullptr) sources_->Abandon(assignment_id);
  if (place_.containers != nullptr) place_.containers->images().Abandon(assignment_id);
  if (channels_ != nullptr) channels_->Abandon(assignment_id);
  if (keeper_ != nullptr) keeper_->AbandonRestore(assignment_id);
}

absl::StatusOr<Trainers::Prepared> ProcessTrainers::TakePort(const v1::Assignment& assignment) {
  // A single rank needs no rendezvous. Among several, only rank 0 listens.
  if (assignment.rank() != 0 || (assignment.world_size() <= 1 && !assignment.await_start()))
    return Prepared{};
  std::optional<PortLease> port = PortLease::Take(range_.first, range_.count);
  if (!port.has_value()) port = PortLease::TakeAny();
  if (!port.has_value()) {
    return absl::UnavailableError(fmt::format(
        "this host has no free port for the ranks to meet, from {} to {} (--rendezvous-port) or elsewhere",
        range_.first, range_.first + range_.count - 1));
  }
  Prepared prepared{port->port()};
  places_[assignment.id()].port = std::move(port);
  return prepared;
}

// Returns the lowest slot that no other trainer has.
int ProcessTrainers::FreeSlot() const {
  std::set<int> taken;
  for (const auto& [id, place] : places_) taken.insert(place.slot);
  int slot = 0;
  while (taken.contains(slot)) ++slot;
  return slot;
}

// The assignment as its program sees it, with what was prepared for it on this host.
v1::Assignment ProcessTrainers::Placed(const v1::Assignment& assignment, const Place& place) const {
  v1::Assignment placed = InImage(assignment);
  if (place.source != nullptr) placed.set_working_directory(place.source->folder().string());
  if (place.channels != nullptr) SetChannelPaths(place.channels->paths, placed);
  return placed;
}

// Whether its program may wait after the part, and can be told when to go on.
bool ProcessTrainers::MayBeTold(const v1::Assignment& assignment, const Place& place) const {
  return (!place.image.has_value() || PassesDescriptor(place.image->engine)) && waiting_.MayWait(assignment);
}

// A program is forked only for a new trial: the files of an earlier part may still be written.
void ProcessTrainers::MakeReady(const v1::Assignment& assignment) {
  Place& place = places_[assignment.id()];
  if (assignment.master_port() == 0 && !place.port) place.port = PortLease::TakeAny();
  if (assignment.resource_from() > 0 || assignment.origin() > 0 || !assignment.resumes()) return;
  place.held = HeldProgram::Fork(loop_, place_, Placed(assignment, place), {0, range_.first},
                                 MayBeTold(assignment, place), &parents_);
}

absl::StatusOr<std::unique_ptr<RankRun>> ProcessTrainers::Start(const v1::Assignment& assignment,
                                                                RankRun::Events events) {
  const bool keeps = keeper_ != nullptr && assignment.keep_checkpoints() && assignment.resumes();
  std::unique_ptr<KeptTrainer> kept;
  if (keeps) {
    kept = std::make_unique<KeptTrainer>(keeper_, assignment);
    events = kept->Wrap(std::move(events));
  }
  const std::string id = assignment.id();
  Place& held = places_[id];
  held.slot = FreeSlot();
  // Some libraries open a rendezvous even for one rank; no other host has to reach that port.
  if (assignment.master_port() == 0 && !held.port) held.port = PortLease::TakeAny();
  const TrainerSeat seat{held.slot, held.port ? held.port->port() : range_.first};
  events.ended = [this, alive = alive_, id, ended = std::move(events.ended)](v1::Outcome outcome) {
    if (*alive) {
      if (const auto place = places_.find(id); place != places_.end() && place->second.broken.has_value())
        outcome = *place->second.broken;
      places_.erase(id);
    }
    ended(std::move(outcome));
  };
  events.saves = [this, alive = alive_, id, saves = std::move(events.saves)] {
    if (*alive) {
      if (const auto place = places_.find(id); place != places_.end()) place->second.slot = -1;
    }
    if (saves) saves();
  };
  const v1::Assignment placed = Placed(assignment, held);
  const std::shared_ptr<const void> needed =
      std::make_shared<std::pair<std::shared_ptr<SourceLease>, std::shared_ptr<PreparedChannels>>>(
          held.source, held.channels);
  TrainerWarmth warmth;
  warmth.waiting = waiting_.Take(assignment);
  if (warmth.waiting != nullptr) held.user = nullptr;  // the program has the lease of its trial's user
  warmth.held = std::move(held.held);
  if (MayBeTold(assignment, held)) {
    warmth.keep = [this, assignment, needed](std::unique_ptr<TrainerProcess> trainer) {
      trainer->Hold(needed);
      waiting_.Keep(assignment, std::move(trainer), parents_.bytes());
    };
  }
  warmth.parents = &parents_;
  warmth.needed = needed;
  auto run = TrainerRun::Start(loop_, place_, placed, seat, std::move(events), held.user, std::move(warmth));
  if (!run.ok()) {
    places_.erase(id);
    return run.status();
  }
  held.run = run->get();
  if (held.broken.has_value()) held.run->Kill(RankRun::Why::kUnwanted);
  if (!keeps) return std::unique_ptr<RankRun>(*std::move(run));
  const auto directories = NameTrialDirectories(place_.shared, assignment.job_id(), assignment.trial());
  if (!directories.ok()) return directories.status();
  kept->Watch(*std::move(run), InShared(directories->checkpoint));
  return std::unique_ptr<RankRun>(std::move(kept));
}

std::vector<v1::WaitingTrainer> ProcessTrainers::Waiting() const {
  std::vector<v1::WaitingTrainer> all = waiting_.List();
  for (v1::WaitingTrainer& parent : parents_.List()) all.push_back(std::move(parent));
  return all;
}

void ProcessTrainers::LetGo(const v1::WaitingTrainer& trainer) {
  waiting_.LetGo(trainer);
  parents_.LetGo(trainer);
}

void ProcessTrainers::LetGoAll(bool leaves) {
  waiting_.LetGoAll(leaves);
  parents_.LetGoAll(leaves);
}

void ProcessTrainers::ListJobs(std::function<void(std::vector<std::string>)> done) {
  folders_.List([loop = loop_, alive = alive_, done = std::move(done)](std::vector<std::string> marks) {
    loop->Post([alive, done, marks = std::move(marks)] {
      if (*alive) done(marks);
    });
  });
}

void ProcessTrainers::StoreModel(const v1::ModelWanted& wanted, std::function<void(std::string)> failed) {
  const auto directories = NameTrialDirectories(place_.shared, wanted.job_id(), wanted.trial());
  if (keeper_ != nullptr && directories.ok())
    keeper_->StoreModel(wanted, InShared(directories->model), std::move(failed));
}

}  // namespace winnow
