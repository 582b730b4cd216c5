#include "worker/runs/trainer_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/host/leftover_processes.h"
#include "worker/runs/failure_cause.h"
#include "worker/runs/trainer_environment.h"
#include "worker/runs/trial_directories.h"
#include "worker/runs/waiting_trainers.h"

namespace winnow {
namespace {

constexpr std::string_view kReady = "ready";
constexpr std::string_view kReadyToHold = "ready holds";
constexpr size_t kMostWords = 4096;  // bytes
// A child writes its own mark over its parent's.
constexpr size_t kParentMarkBytes = 512;

// Its name among the assignments of the worker. It is none, and has the length that any of them can have.
std::string NameOfParent(const v1::Assignment& assignment) {
  std::string name = fmt::format("{}.parent", assignment.job_id());
  name.resize(std::max(name.size(), kParentMarkBytes), '-');
  return name;
}

bool IsOfOneTrial(std::string_view entry) {
  constexpr std::array<std::string_view, 16> kNames = {
      "SM_HPS=",           "SM_MODEL_DIR=",         "SM_OUTPUT_DATA_DIR=", "WINNOW_CHECKPOINT_DIR=",
      "WINNOW_TRIAL=",     "WINNOW_ATTEMPT=",       "WINNOW_ASSIGNMENT=",  "WINNOW_SEED=",
      "WINNOW_SLOT=",      "WINNOW_RESOURCE_FROM=", "WINNOW_RESOURCE_TO=", "WINNOW_CONTROL_FD=",
      "WINNOW_PARENT_FD=", "WINNOW_PARENT_HPS=",    "MASTER_ADDR=",        "MASTER_PORT="};
  return entry.starts_with("SM_HP_") || entry.starts_with("WINNOW_REPEAT") ||
         entry.starts_with("WINNOW_FOLD") ||
         std::any_of(kNames.begin(), kNames.end(),
                     [entry](std::string_view name) { return entry.starts_with(name); });
}

}  // namespace

ParentKey ParentKeyOf(const v1::Assignment& assignment, const std::map<std::string, std::string>& secrets) {
  return {assignment.job_id(),          assignment.command().empty() ? "" : assignment.command(0),
          assignment.source().digest(), assignment.working_directory(),
          assignment.memory_gib(),      secrets};
}

std::vector<std::string> ParentEnvironment(const std::vector<std::string>& trainer, int socket,
                                           const std::string& mark) {
  constexpr std::string_view kHyperparameters = "SM_HPS=";
  std::vector<std::string> environment;
  for (const std::string& entry : trainer) {
    if (entry.starts_with(kHyperparameters))
      environment.push_back("WINNOW_PARENT_HPS=" + entry.substr(kHyperparameters.size()));
    if (!IsOfOneTrial(entry)) environment.push_back(entry);
  }
  environment.push_back("WINNOW_PARENT_FD=" + std::to_string(socket));
  environment.push_back(mark);
  return environment;
}

TrainerParent::TrainerParent(EventLoop* loop, ParentKey key) : loop_(loop), key_(std::move(key)) {
  std::vector<std::string> hidden;
  for (const auto& [variable, value] : key_.secrets) hidden.push_back(value);
  redactor_ = std::make_unique<Redactor>(hidden);
}

absl::StatusOr<std::unique_ptr<TrainerParent>> TrainerParent::Start(
    EventLoop* loop, const TrainerPlace& place, const v1::Assignment& assignment,
    const std::map<std::string, std::string>& secrets, std::function<void(const std::string& words)> gone) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return absl::ResourceExhaustedError(fmt::format("cannot make a socket: {}", strerrordesc_np(errno)));
  std::unique_ptr<TrainerParent> parent(new TrainerParent(loop, ParentKeyOf(assignment, secrets)));
  TrainerParent* const self = parent.get();
  parent->socket_ = ends[0];
  parent->gone_ = std::move(gone);
  const int inherited = fcntl(ends[1], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(ends[1]);
  ProcessSpec spec;
  spec.inherited = inherited;
  const std::string name = NameOfParent(assignment);
  spec.mark = AssignmentMark(name);
  spec.command.assign(assignment.command().begin(), assignment.command().end());
  v1::Assignment without_devices = assignment;
  without_devices.clear_gpus();
  if (!assignment.gpus().empty()) without_devices.add_gpus("");  // it sees none
  spec.environment = ParentEnvironment(
      TrainerEnvironment(without_devices, TrialDirectories(),
                         {place.host, 0, {}, place.work.string(), secrets, -1, place.python.string()},
                         place.environment),
      inherited, spec.mark);
  spec.working_directory = assignment.working_directory();
  spec.program_directory = place.program_directory;
  absl::Status status;
  if (place.limiter != nullptr) {
    // It computes nothing, so that it takes no processors from others.
    auto confinement = place.limiter->Confine(fmt::format("{}.parent", assignment.id()), spec.mark,
                                              {0, assignment.memory_gib()});
    status = confinement.status();
    if (confinement.ok()) {
      parent->confinement_ = *std::move(confinement);
      spec.setup = parent->confinement_->Child();
    }
  }
  absl::StatusOr<std::unique_ptr<Process>> process = absl::UnknownError("");
  if (!status.ok()) {
    process = status;
  } else {
    process = Process::Start(loop, spec,
                             {[self](Process::Stream stream, std::string_view bytes) {
                                if (stream != Process::kStderr) return;
                                self->words_ += self->redactor_->Add(bytes);
                                if (self->words_.size() > kMostWords)
                                  self->words_.erase(0, self->words_.size() - kMostWords);
                              },
                              [self](const ProcessEnd&) {
                                const auto told = self->gone_;
                                told(FindCause(self->words_ + self->redactor_->End()));
                              }});
  }
  close(inherited);
  if (!process.ok()) return process.status();
  parent->process_ = *std::move(process);
  if (parent->confinement_ != nullptr)
    parent->confinement_->Watch(parent->pid(), [self] { self->process_->Stop(std::chrono::seconds(0)); });
  parent->watch_ = loop->Watch(parent->socket_, [self] { self->ReadSocket(); });
  return parent;
}

TrainerParent::~TrainerParent() {
  CloseSocket();
  process_ = nullptr;
}

void TrainerParent::ReadSocket() {
  std::array<char, 64> buffer;
  const ssize_t got = recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    CloseSocket();
    process_->Stop(std::chrono::seconds(0));  // it can fork nothing any more
    return;
  }
  const std::string_view word(buffer.data(), static_cast<size_t>(got));
  if (word != kReady && word != kReadyToHold) return;
  was_ready_ = true;
  can_hold_ = word == kReadyToHold;
  bytes_ = AnonymousMemoryOf(pid());
}

void TrainerParent::CloseSocket() {
  if (watch_ != 0) loop_->Unwatch(std::exchange(watch_, 0));
  if (socket_ >= 0) close(std::exchange(socket_, -1));
}

absl::StatusOr<std::unique_ptr<ComingChild>> TrainerParent::AskForChild(const ProcessSpec& spec, int control,
                                                                        int child_control, bool holds) {
  return ComingChild::Ask({spec, socket_, pid(), control, child_control, holds});
}

}  // namespace winnow
