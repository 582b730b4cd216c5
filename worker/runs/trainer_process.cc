#include "worker/runs/trainer_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "artifact/files.h"
#include "artifact/folder.h"
#include "base/rank_name.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "spdlog/spdlog.h"
#include "worker/runs/redactor.h"
#include "worker/runs/trainer_parents.h"
#include "worker/runs/trial_directories.h"

namespace winnow {
namespace {

constexpr size_t kMostControlBytes = 4096;  // of a line
constexpr std::string_view kWaiting = "waiting ";
constexpr std::string_view kSaving = "saving ";
constexpr std::string_view kForks = "forks";
constexpr std::string_view kChannel = "SM_CHANNEL_";
// How long a waiting program has to end after it was told so.
constexpr std::chrono::seconds kEndPatience(1);
// The control socket in a container: an engine passes on the descriptors from 3.
constexpr int kContainerControl = 3;

// Folders and files that cannot be made are the machine's fault.
absl::Status FaultOfMachine(const absl::Status& status) {
  return absl::ResourceExhaustedError(MessageOf(status));
}

// Replaces the values of `inherited` that name the worker's user by the trainer's user's.
std::vector<std::string> EnvironmentOf(const TrainerUser& user, const std::filesystem::path& home,
                                       std::vector<std::string> inherited) {
  constexpr std::array<std::string_view, 12> kPersonal = {"HOME=",
                                                          "USER=",
                                                          "LOGNAME=",
                                                          "MAIL=",
                                                          "SHELL=",
                                                          "TMPDIR=",
                                                          "XDG_RUNTIME_DIR=",
                                                          "XDG_CACHE_HOME=",
                                                          "XDG_CONFIG_HOME=",
                                                          "XDG_DATA_HOME=",
                                                          "XDG_STATE_HOME=",
                                                          "SSH_AUTH_SOCK="};
  std::erase_if(inherited, [&](const std::string& entry) {
    return std::any_of(kPersonal.begin(), kPersonal.end(),
                       [&](std::string_view name) { return entry.starts_with(name); });
  });
  const std::string name = user.name.empty() ? std::to_string(user.uid) : user.name;
  for (const std::string& entry :
       {"HOME=" + home.string(), "TMPDIR=" + home.string(), "USER=" + name, "LOGNAME=" + name}) {
    inherited.push_back(entry);
  }
  return inherited;
}

// The level of "waiting LEVEL", where `word` is "waiting "; absent: the line says something else.
std::optional<int64_t> LevelOf(std::string_view line, std::string_view word) {
  if (!line.starts_with(word)) return std::nullopt;
  line.remove_prefix(word.size());
  int64_t level = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), level);
  if (error != std::errc() || end != line.data() + line.size() || level < 0) return std::nullopt;
  return level;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrainerProcess>> TrainerProcess::Start(
    EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment, const TrainerSeat& seat,
    const std::map<std::string, std::string>& secrets, std::shared_ptr<const UserLease> user, bool may_wait,
    TrainerParents* parents, Listener* listener, Turn turn) {
  const auto directories = NameTrialDirectories(place.shared, assignment.job_id(), assignment.trial());
  if (!directories.ok()) return directories.status();
  std::unique_ptr<TrainerProcess> trainer(new TrainerProcess(loop, listener, place.removal));
  TrainerProcess* const self = trainer.get();
  trainer->secrets_ = secrets;
  trainer->user_ = user;
  trainer->mark_ = AssignmentMark(assignment.id());
  std::vector<std::string> inherited = place.environment;
  if (user != nullptr) {
    if (absl::Status status = trainer->MakeHome(place, assignment, user->user()); !status.ok())
      return FaultOfMachine(status);
    inherited = EnvironmentOf(user->user(), trainer->home_, std::move(inherited));
  }
  if (assignment.has_credentials()) {
    if (absl::Status status = trainer->WriteCredentials(place, assignment); !status.ok())
      return FaultOfMachine(status);
  }
  ProcessSpec spec;
  spec.command.assign(assignment.command().begin(), assignment.command().end());
  spec.mark = trainer->mark_;
  spec.working_directory = assignment.working_directory();
  spec.program_directory = place.program_directory;
  const bool may_fork = parents != nullptr && parents->May(assignment);
  TrainerParent* const parent = may_fork ? parents->Find(assignment, secrets) : nullptr;
  const bool holds = turn == Turn::kAwaited;
  if (holds && (parent == nullptr || !parent->can_hold()))
    return absl::UnavailableError("no parent can hold it");
  // Makes the control socket, if there is to be one, and the environment that names it.
  const auto connect = [&]() -> absl::Status {
    if (may_wait || may_fork) {
      if (absl::Status status = trainer->MakeControl(&spec.inherited); !status.ok()) return status;
    }
    if (spec.inherited >= 0 && assignment.has_container()) spec.inherited_as = kContainerControl;
    spec.environment =
        TrainerEnvironment(assignment, *directories,
                           {place.host, LocalRank(assignment), seat, place.work.string(), secrets,
                            spec.inherited_as >= 0 ? spec.inherited_as : spec.inherited,
                            place.python.string(), trainer->credentials_.string()},
                           inherited);
    return absl::OkStatus();
  };
  if (absl::Status status = connect(); !status.ok()) return status;
  if (assignment.has_container()) {
    if (absl::Status status = trainer->EnterContainer(place, assignment, *directories, &spec); !status.ok()) {
      if (spec.inherited >= 0) close(spec.inherited);
      return status;
    }
  }
  if (place.limiter != nullptr && !trainer->is_apart()) {
    auto confinement =
        place.limiter->Confine(assignment.id(), spec.mark, {assignment.cpus(), assignment.memory_gib()});
    if (!confinement.ok()) {
      if (spec.inherited >= 0) close(spec.inherited);
      return confinement.status();
    }
    trainer->confinement_ = *std::move(confinement);
    spec.setup = trainer->confinement_->Child();
    trainer->group_ = spec.setup.group;
  }
  if (!trainer->is_apart()) {
    spec.setup.user = std::move(user);
  } else if (user != nullptr) {
    spec.setup.stream_user = &trainer->user_->user();
  }
  trainer->process_events_ = {
      [self](Process::Stream stream, std::string_view bytes) { self->listener_->Output(stream, bytes); },
      [self](const ProcessEnd& end) {
        if (self->container_ == nullptr) return self->listener_->Gone(end);
        self->container_->ProcessEnded(end, self->process_->IsStopping(),
                                       [self](const ProcessEnd& program) { self->listener_->Gone(program); });
      }};
  absl::StatusOr<std::unique_ptr<Process>> process = absl::UnavailableError("no parent");
  if (parent != nullptr) {
    auto child = parent->AskForChild(spec, trainer->control_, std::exchange(spec.inherited, -1), holds);
    if (child.ok() && holds) {
      trainer->coming_ = *std::move(child);
      trainer->answered_ = [parents, assignment, secrets](const absl::Status& forked) {
        if (forked.ok()) return parents->Forked(assignment);
        parents->Failed(parents->Find(assignment, secrets), assignment, forked);
      };
      trainer->control_watch_ = loop->Watch(trainer->control_, [self] { self->Arrive(); });
      return trainer;
    }
    process = child.ok() ? (*child)->Take(loop, trainer->process_events_) : child.status();
    trainer->forked_ = process.ok();
    if (process.ok()) {
      parents->Forked(assignment);
    } else {
      const absl::Status why = process.status();
      parents->Failed(parent, assignment, why);
      if (holds) return absl::UnavailableError(why.message());
      trainer->CloseControl();
      if (absl::Status status = connect(); !status.ok()) return status;
    }
  }
  if (!process.ok()) process = Process::Start(loop, spec, trainer->process_events_);
  if (spec.inherited >= 0) close(spec.inherited);
  if (!process.ok()) {
    std::vector<std::string> hidden;
    for (const auto& [variable, value] : secrets) hidden.push_back(value);
    Redactor redactor(hidden);
    const std::string why = redactor.Add(MessageOf(process.status()));
    return absl::Status(process.status().code(), why + redactor.End());
  }
  trainer->Started(*std::move(process));
  return trainer;
}

TrainerProcess::~TrainerProcess() {
  loop_->Cancel(end_timer_);
  coming_ = nullptr;
  CloseControl();
  process_ = nullptr;
  container_ = nullptr;
  confinement_ = nullptr;
  for (const std::filesystem::path& folder : {home_, credentials_}) {
    if (!folder.empty()) Remove(folder);
  }
}

// It may have any number of files. Nobody else sees them until they are gone.
void TrainerProcess::Remove(const std::filesystem::path& folder) {
  (void)!lchown(folder.c_str(), geteuid(), getegid());
  const auto remove = [folder] {
    if (absl::Status status = RemoveTree(folder); !status.ok()) spdlog::warn("{}", MessageOf(status));
  };
  if (removal_ != nullptr) return removal_->Post(remove);
  remove();
}

void TrainerProcess::Started(std::unique_ptr<Process> process) {
  process_ = std::move(process);
  if (container_ != nullptr) container_->ProcessStarted();
  if (confinement_ != nullptr) confinement_->Watch(process_->pid(), [this] { listener_->OverMemory(); });
  if (control_ >= 0) control_watch_ = loop_->Watch(control_, [this] { ReadControl(); });
}

bool TrainerProcess::Arrive() {
  if (coming_ == nullptr) return process_ != nullptr;
  loop_->Unwatch(std::exchange(control_watch_, 0));
  auto process = coming_->Take(loop_, process_events_);
  coming_ = nullptr;
  answered_(process.status());
  if (!process.ok()) {
    CloseControl();
    return false;
  }
  forked_ = true;
  Started(*std::move(process));
  return true;
}

absl::Status TrainerProcess::MakeHome(const TrainerPlace& place, const v1::Assignment& assignment,
                                      const TrainerUser& user) {
  std::string name = assignment.id();
  std::replace(name.begin(), name.end(), '/', '_');
  const auto homes = OpenFolder::Make({place.work, kHomes}, 0711);
  if (!homes.ok()) return homes.status();
  const auto home = homes->MakeFolder(name, 0700);
  if (!home.ok()) return home.status();
  home_ = place.work / kHomes / name;
  if (absl::Status status = homes->SetMode(0711); !status.ok()) return status;
  if (fchown(home->descriptor(), user.uid, user.gid) == 0) return absl::OkStatus();
  return FileError(home_, "cannot be given to the trainer's user", errno);
}

absl::Status TrainerProcess::WriteCredentials(const TrainerPlace& place, const v1::Assignment& assignment) {
  std::string name = assignment.id();
  std::replace(name.begin(), name.end(), '/', '_');
  const auto all = OpenFolder::Make({place.work, kCredentials}, 0711);
  if (!all.ok()) return all.status();
  const auto folder = all->MakeFolder(name, 0700);
  if (!folder.ok()) return folder.status();
  credentials_ = place.work / kCredentials / name;
  if (absl::Status status = all->SetMode(0711); !status.ok()) return status;
  const v1::RankCredentials& of_rank = assignment.credentials();
  for (const auto& [file_name, text] : {std::pair(kRankAuthorityFile, &of_rank.authority()),
                                        std::pair(kRankCertificateFile, &of_rank.certificate()),
                                        std::pair(kRankKeyFile, &of_rank.private_key())}) {
    absl::StatusOr<OpenFile> file =
        OpenFile::Open((credentials_ / file_name).string(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    absl::Status status = file.status();
    if (status.ok()) status = file->Write(*text);
    if (!status.ok()) return status;
    if (user_ == nullptr) continue;
    const TrainerUser& user = user_->user();
    if (chown((credentials_ / file_name).c_str(), user.uid, user.gid) != 0)
      return FileError(credentials_ / file_name, "cannot be given to the trainer's user", errno);
  }
  if (user_ == nullptr || fchown(folder->descriptor(), user_->user().uid, user_->user().gid) == 0)
    return absl::OkStatus();
  return FileError(credentials_, "cannot be given to the trainer's user", errno);
}

// REQUIRES: the spec has the trainer's own command, environment and working directory.
absl::Status TrainerProcess::EnterContainer(const TrainerPlace& place, const v1::Assignment& assignment,
                                            const TrialDirectories& directories, ProcessSpec* spec) {
  if (place.containers == nullptr) return absl::FailedPreconditionError("this worker runs no containers");
  TrialContainer::Needs needs;
  needs.variables = ContainerVariables(assignment, !home_.empty(), spec->environment);
  for (const std::filesystem::path& folder :
       {directories.checkpoint, directories.model, directories.output, home_})
    needs.mounts.push_back({folder.string(), true});
  needs.mounts.push_back({place.python.string(), false});
  needs.mounts.push_back({credentials_.string(), false});
  if (assignment.has_source()) {
    needs.working_directory = spec->working_directory;
    needs.mounts.push_back({spec->working_directory, false});
  }
  for (const std::string& entry : spec->environment) {
    if (!entry.starts_with(kChannel)) continue;
    for (ContainerMount& mount : ChannelMounts(entry.substr(entry.find('=') + 1), place.views)) {
      // The engine passes folders that the trial's user may not.
      const auto above = user_ == nullptr ? std::filesystem::path() : Obstacle(user_->user(), mount.path);
      if (!above.empty())
        return absl::FailedPreconditionError(
            fmt::format("{}: user {}, as whom the trial runs, has no access to {}", entry, user_->user().uid,
                        above.string()));
      needs.mounts.push_back(std::move(mount));
    }
  }
  needs.user = user_ == nullptr ? nullptr : &user_->user();
  needs.control = spec->inherited >= 0;
  auto container = TrialContainer::Make(place.containers, assignment, std::move(needs));
  if (!container.ok()) return container.status();
  container_ = *std::move(container);
  spec->command = container_->Command();
  spec->environment = container_->Environment();
  spec->working_directory = container_->WorkingDirectory();
  spec->program_directory = "";
  return absl::OkStatus();
}

std::optional<pid_t> TrainerProcess::program() const {
  return is_apart() ? container_->program() : process_->pid();
}

absl::Status TrainerProcess::MakeControl(int* inherited) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot make a control socket: {}", strerror(errno)));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  control_ = ends[0];
  *inherited = ends[1];
  if (ends[1] > STDERR_FILENO) return absl::OkStatus();
  *inherited = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(ends[1]);
  return *inherited >= 0 ? absl::OkStatus() : absl::ResourceExhaustedError("cannot make a control socket");
}

void TrainerProcess::CloseControl() {
  if (control_ < 0) return;
  if (control_watch_ != 0) loop_->Unwatch(std::exchange(control_watch_, 0));
  close(std::exchange(control_, -1));
}

void TrainerProcess::ReadControl() {
  std::array<char, kMostControlBytes> buffer;
  const ssize_t got = read(control_, buffer.data(), buffer.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return CloseControl();
  said_.append(buffer.data(), got);
  for (size_t end; (end = said_.find('\n')) != std::string::npos;) {
    const std::string line = said_.substr(0, end);
    said_.erase(0, end + 1);
    const std::optional<int64_t> saving = LevelOf(line, kSaving), waiting = LevelOf(line, kWaiting);
    if (line == kForks) listener_->CanFork();
    if (!saving.has_value() && !waiting.has_value()) continue;
    process_->ReadWritten();
    if (saving.has_value()) listener_->Saves(*saving);
    if (waiting.has_value()) listener_->Waits(*waiting);
  }
  if (said_.size() > kMostControlBytes) CloseControl();
}

bool TrainerProcess::Say(const std::string& line) {
  return control_ >= 0 && !process_->HasEnded() &&
         send(control_, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
             static_cast<ssize_t>(line.size());
}

bool TrainerProcess::Begin(const v1::Assignment& assignment, const TrainerSeat& seat) {
  return Say(fmt::format("go {}\n", fmt::join(PartEnvironment(assignment, seat), " ")));
}

bool TrainerProcess::Continue(const v1::Assignment& assignment, const TrainerSeat& seat) {
  return Say(fmt::format("continue {} {}\n", assignment.resource_to(),
                         fmt::join(PartEnvironment(assignment, seat), " ")));
}

void TrainerProcess::End(EventLoop::Clock::duration grace) {
  if (control_ >= 0) {
    constexpr std::string_view kEnd = "end\n";
    static_cast<void>(send(control_, kEnd.data(), kEnd.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
    CloseControl();
  }
  if (end_timer_ != 0) return;
  end_timer_ = loop_->After(kEndPatience, [this, grace] {
    end_timer_ = 0;
    process_->Stop(grace);
  });
}

}  // namespace winnow
