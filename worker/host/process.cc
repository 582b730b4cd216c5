#include "worker/host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/spawn.h"
#include "fmt/format.h"
#include "worker/host/child_process.h"

namespace winnow {
namespace {

using std::chrono::milliseconds;

constexpr size_t kReadBytes = 64 << 10;
constexpr char kFreezer[] = "cgroup.freeze";  // of version 2 control groups

// Returns a descriptor of 3 or more, so that the child's dup2 calls never overwrite one it still needs.
int Above2(int fd) {
  if (fd < 0 || fd > 2) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  close(fd);
  return moved;
}

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(Above2(fd)) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  void Reset(int fd) {
    Close();
    fd_ = Above2(fd);
  }

 private:
  int fd_;
};

bool MakePipe(Descriptor* reader, Descriptor* writer) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return false;
  reader->Reset(fds[0]);
  writer->Reset(fds[1]);
  return reader->get() >= 0 && writer->get() >= 0;
}

std::string Path(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

std::vector<std::string> Candidates(const ProcessSpec& spec) {
  const std::string& program = spec.command[0];
  if (program.find('/') != std::string::npos) return {program};
  std::vector<std::string> candidates;
  if (!spec.program_directory.empty()) candidates.push_back(spec.program_directory + "/" + program);
  const std::string path = Path(spec.environment);
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    if (end > begin) candidates.push_back(path.substr(begin, end - begin) + "/" + program);
    begin = end + 1;
  }
  return candidates;
}

std::string Words(int error) { return strerrordesc_np(error); }

// Errors of the machine's state, not of the program: a later try, or another host, may succeed.
bool IsOfMachine(int error) {
  switch (error) {
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOSPC:
    case EDQUOT:
    case EIO:
    case EROFS:
    case ESTALE:
      return true;
    default:
      return false;
  }
}

// Why a program that is there may not be executed, in brackets; "": there is nothing to say.
std::string Hint(const ProcessSpec& spec, int error) {
  if (error == ENOEXEC) return " (does its first line, #!, name an interpreter?)";
  if (error == EACCES) {
    constexpr auto kExecutable = std::filesystem::perms::owner_exec | std::filesystem::perms::group_exec |
                                 std::filesystem::perms::others_exec;
    std::error_code unknown;
    const std::filesystem::file_status file =
        std::filesystem::status(std::filesystem::path(spec.working_directory) / spec.command[0], unknown);
    const bool is_plain = std::filesystem::is_regular_file(file) &&
                          (file.permissions() & kExecutable) == std::filesystem::perms::none;
    return is_plain ? " (the file is not executable: chmod +x, or let the command begin with its interpreter)"
                    : "";
  }
  if (error != ENOENT) return "";
  std::ifstream file(std::filesystem::path(spec.working_directory) / spec.command[0]);
  char start[256] = {};
  file.read(start, sizeof start);
  std::string_view line(start, file.gcount());
  if (!line.starts_with("#!") || line.find('\n') == std::string_view::npos) return "";
  line = line.substr(0, line.find('\n'));
  if (line.ends_with('\r'))
    return " (its lines end as on Windows, with a carriage return, which counts as a part of the "
           "interpreter's name)";
  return fmt::format(" (the interpreter that its first line names, \"{}\", is not there)", line);
}

absl::Status Explain(const ProcessSpec& spec, const ExecFailure& failure) {
  if (failure.step == ExecFailure::kSetup) {
    return absl::ResourceExhaustedError(
        fmt::format("cannot set the limits of {}: {}", spec.command[0], Words(failure.error)));
  }
  if (failure.step == ExecFailure::kUser) {
    return absl::ResourceExhaustedError(fmt::format("cannot run {} as user {}: {}", spec.command[0],
                                                    spec.setup.user->user().uid, Words(failure.error)));
  }
  if (failure.step == ExecFailure::kDirectory) {
    const std::string message =
        fmt::format("cannot enter working directory {}: {}", spec.working_directory, Words(failure.error));
    return IsOfMachine(failure.error) ? absl::ResourceExhaustedError(message) : absl::NotFoundError(message);
  }
  const std::string& program = spec.command[0];
  if (failure.error == ENOENT && program.find('/') == std::string::npos) {
    return absl::NotFoundError(
        fmt::format("cannot execute {}: no such program in {}{}PATH ({})", program, spec.program_directory,
                    spec.program_directory.empty() ? "" : " or ", Path(spec.environment)));
  }
  const std::string message =
      fmt::format("cannot execute {}: {}{}", program, Words(failure.error), Hint(spec, failure.error));
  if (IsOfMachine(failure.error)) return absl::ResourceExhaustedError(message);
  return failure.error == ENOENT ? absl::NotFoundError(message) : absl::FailedPreconditionError(message);
}

absl::Status SetUp(const ProcessSpec& spec, ChildPlan* plan) {
  const ChildSetup& setup = spec.setup;
  if (setup.group != nullptr) {
    plan->group_folder = setup.group->Folder();
    plan->join_file = setup.group->JoinFile();
    if (plan->group_folder < 0 || plan->join_file < 0) return Explain(spec, {ExecFailure::kSetup, errno});
  }
  plan->bound = !setup.processors.empty();
  CPU_ZERO(&plan->processors);
  for (const int processor : setup.processors) CPU_SET(processor, &plan->processors);
  plan->data = {setup.data_bytes, setup.data_bytes};
  if (setup.user != nullptr) plan->user = &setup.user->user();
  const TrainerUser* const writer = plan->user != nullptr ? plan->user : setup.stream_user;
  if (writer == nullptr) return absl::OkStatus();
  // Lets the child open its streams by name, as /dev/stderr.
  for (const int pipe : {plan->output, plan->error}) {
    if (fchown(pipe, writer->uid, writer->gid) != 0) return Explain(spec, {ExecFailure::kUser, errno});
  }
  return absl::OkStatus();
}

// Kept open, because a process that hides itself may not open it.
int OwnOomFile() {
  static const int fd = Above2(open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC));
  return fd;
}

// During its lifetime, processes started here have a higher oom_score_adj (proc(5)): if the host's memory
// runs out, the kernel kills a trainer before the worker. A failure changes nothing.
class OomOffer {
 public:
  OomOffer() {
    char text[16] = {};
    if (pread(OwnOomFile(), text, sizeof text - 1, 0) <= 0) return;
    before_ = text;
    if (std::atoi(text) < kAdjustment) Set(std::to_string(kAdjustment));
  }
  ~OomOffer() {
    if (!before_.empty()) Set(before_);
  }
  OomOffer(const OomOffer&) = delete;
  OomOffer& operator=(const OomOffer&) = delete;

 private:
  static constexpr int kAdjustment = 500;
  static void Set(const std::string& text) {
    const ssize_t ignored = pwrite(OwnOomFile(), text.data(), text.size(), 0);
    static_cast<void>(ignored);
  }
  std::string before_;
};

// Waits for the child's message. The pipe is empty if the program runs, because exec closes it.
bool ReadFailure(int fd, ExecFailure* failure) {
  ssize_t got;
  do {
    got = read(fd, failure, sizeof *failure);
  } while (got < 0 && errno == EINTR);
  return got == sizeof *failure;
}

}  // namespace

void HideFromOthers() {
  OwnOomFile();
  prctl(PR_SET_DUMPABLE, 0);
}

Process::Process(EventLoop* loop, const ProcessSpec& spec, Events events)
    : loop_(loop),
      events_(std::move(events)),
      group_(spec.setup.group),
      user_(spec.setup.user),
      orphans_(spec.mark, user_.get()) {}

absl::StatusOr<std::unique_ptr<Process>> Process::Start(EventLoop* loop, const ProcessSpec& spec,
                                                        Events events) {
  if (spec.command.empty() || spec.command[0].empty())
    return absl::InvalidArgumentError("the command is empty");
  // Orphans of a group become ours, so that they are reaped even where the system's first process does not
  // reap.
  prctl(PR_SET_CHILD_SUBREAPER, 1);

  Descriptor input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Descriptor out_reader, out_writer, error_reader, error_writer, failure_reader, failure_writer;
  if (input.get() < 0 || !MakePipe(&out_reader, &out_writer) || !MakePipe(&error_reader, &error_writer) ||
      !MakePipe(&failure_reader, &failure_writer)) {
    return absl::ResourceExhaustedError(fmt::format("cannot start {}: {}", spec.command[0], Words(errno)));
  }
  if (failure_writer.get() == spec.inherited_as)
    failure_writer.Reset(fcntl(failure_writer.get(), F_DUPFD_CLOEXEC, spec.inherited_as + 1));
  const std::vector<std::string> candidates = Candidates(spec);
  ChildPlan plan{
      getpid(),         Pointers(spec.command), Pointers(spec.environment), {}, nullptr, input.get(),
      out_writer.get(), error_writer.get(),     failure_writer.get()};
  plan.inherited = spec.inherited;
  plan.inherited_as = spec.inherited_as >= 0 ? spec.inherited_as : spec.inherited;
  if (absl::Status status = SetUp(spec, &plan); !status.ok()) return status;
  for (const std::string& candidate : candidates) plan.programs.push_back(candidate.c_str());
  if (!spec.working_directory.empty()) plan.directory = spec.working_directory.c_str();

  // None of our signal handlers may run in the child before it has reset them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<OomOffer> offer(std::in_place);
  const pid_t pid = ForkAndExec(&plan);
  const int fork_error = errno;
  offer.reset();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        fmt::format("cannot start {}: {}", spec.command[0], Words(fork_error)));
  }
  out_writer.Close();
  error_writer.Close();
  failure_writer.Close();
  ExecFailure failure;
  if (ReadFailure(failure_reader.get(), &failure)) {
    waitpid(pid, nullptr, 0);
    return Explain(spec, failure);
  }
  return Adopt(loop, spec, pid, out_reader.Release(), error_reader.Release(), std::move(events));
}

absl::StatusOr<std::unique_ptr<Process>> Process::Adopt(EventLoop* loop, const ProcessSpec& spec, pid_t pid,
                                                        int output, int error, Events events) {
  std::unique_ptr<Process> process(new Process(loop, spec, std::move(events)));
  Process* const self = process.get();
  process->pid_ = pid;
  AddOwnChild(pid);
  process->pipes_[kStdout].fd = output;
  process->pipes_[kStderr].fd = error;
  process->pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process->pidfd_ < 0) {
    return absl::ResourceExhaustedError(fmt::format("cannot watch {}: {}", spec.command[0], Words(errno)));
  }
  for (const Stream stream : {kStdout, kStderr}) {
    Pipe& pipe = process->pipes_[stream];
    fcntl(pipe.fd, F_SETFL, O_NONBLOCK);
    self->WatchPipe(stream);
  }
  process->ended_watch_ = loop->Watch(process->pidfd_, [self] { self->LeaderEnded(); });
  return process;
}

Process::~Process() {
  loop_->Cancel(kill_timer_);
  loop_->Cancel(group_timer_);
  loop_->Unwatch(ended_watch_);
  if (pid_ > 0 && !reaped_) {
    KillGroup();
    if (group_ != nullptr) group_->Kill();
    if (user_ != nullptr && user_->IsAlone()) EndProcessesOf(user_->user());
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    RemoveOwnChild(pid_);
  }
  ClosePipe(kStdout);
  ClosePipe(kStderr);
  if (pidfd_ >= 0) close(pidfd_);
}

bool Process::HasEnded() const {
  if (reaped_) return true;
  siginfo_t info{};
  return waitid(P_PID, pid_, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

bool Process::HasUnread(Stream stream) const {
  int bytes = 0;
  return pipes_[stream].fd >= 0 && ioctl(pipes_[stream].fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

void Process::Stop(EventLoop::Clock::duration grace) {
  if (gone_ || (!stopping_ && HasEnded())) return;
  const auto kill_time = EventLoop::Clock::now() + grace;
  if (stopping_ && kill_time >= kill_time_) return;
  if (!stopping_ && grace > grace.zero()) {
    kill(-pid_, SIGTERM);
    if (suspended_) Resume();
  }
  stopping_ = true;
  kill_time_ = kill_time;
  loop_->Cancel(kill_timer_);
  kill_timer_ = loop_->At(kill_time, [this] {
    kill_timer_ = 0;
    KillGroup();
  });
}

void Process::ReadWritten() {
  constexpr int kMostReads = 1024;  // a program that never ceases to write does not hold up the loop
  for (const Stream stream : {kStdout, kStderr}) ReadSome(stream, kMostReads);
}

// SIGSTOP does not reach the processes of other sessions; the freezer of a control group does.
void Process::Suspend() {
  if (suspended_ || HasEnded()) return;
  suspended_ = true;
  kill(-pid_, SIGSTOP);
  if (group_ != nullptr) static_cast<void>(group_->Set(kFreezer, "1"));
  for (Pipe& pipe : pipes_) {
    if (pipe.watch != 0) loop_->Unwatch(std::exchange(pipe.watch, 0));
  }
}

void Process::Resume() {
  suspended_ = false;
  for (const Stream stream : {kStdout, kStderr}) WatchPipe(stream);
  if (group_ != nullptr) static_cast<void>(group_->Set(kFreezer, "0"));
  kill(-pid_, SIGCONT);
}

void Process::KillGroup() { kill(-pid_, SIGKILL); }

// REQUIRES: the leader has ended; any process left in its group still holds the group's id.
void Process::LeaderEnded() {
  // The group ends with its leader, but a stopped group keeps its grace period: a shell dies of SIGTERM at
  // once while its program is still saving.
  if (!stopping_) KillGroup();
  int status = 0;
  WINNOW_CHECK(waitpid(pid_, &status, 0) == pid_, "nobody else waits for our children");
  reaped_ = true;
  RemoveOwnChild(pid_);
  end_.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end_.exit_code = end_.signal != 0 ? 128 + end_.signal : WEXITSTATUS(status);
  loop_->Unwatch(ended_watch_);
  ended_watch_ = 0;
  group_delay_ = milliseconds(1);
  AwaitGroup();
}

// No event reports that a foreign process has left the group, so this polls at growing intervals.
void Process::AwaitGroup() {
  group_timer_ = 0;
  while (waitpid(-pid_, nullptr, WNOHANG) > 0) {
  }
  bool left = kill(-pid_, 0) == 0 || errno != ESRCH;
  // The outside processes are killed also while the group is there, once it has had its SIGKILL: one of them
  // may be the parent of a zombie that is all of the group. Only after the group is gone are all of them our
  // children.
  if (!left || !stopping_ || kill_timer_ == 0) {
    if (group_ != nullptr && group_->KillSome()) left = true;
    if (orphans_.KillSome(left)) left = true;
  }
  if (left) {
    group_timer_ = loop_->After(group_delay_, [this] { AwaitGroup(); });
    group_delay_ = std::min<EventLoop::Clock::duration>(group_delay_ * 2, milliseconds(50));
    return;
  }
  gone_ = true;
  loop_->Cancel(std::exchange(kill_timer_, 0));
  // All output is in the pipes. A process that left the group and dropped its mark may keep them open; it is
  // not waited for.
  for (const Stream stream : {kStdout, kStderr}) {
    ReadSome(stream, 1024);
    ClosePipe(stream);
  }
  // Copies, because the callback may delete this.
  const auto gone = events_.gone;
  const ProcessEnd end = end_;
  gone(end);
}

void Process::WatchPipe(Stream stream) {
  Pipe& pipe = pipes_[stream];
  if (pipe.fd >= 0) pipe.watch = loop_->Watch(pipe.fd, [this, stream] { ReadSome(stream, 4); });
}

void Process::ReadSome(Stream stream, int most_reads) {
  std::array<char, kReadBytes> buffer;
  for (int i = 0; i < most_reads && pipes_[stream].fd >= 0 && !suspended_; ++i) {
    const ssize_t got = read(pipes_[stream].fd, buffer.data(), buffer.size());
    if (got > 0) {
      events_.output(stream, std::string_view(buffer.data(), got));
    } else if (got == 0) {
      ClosePipe(stream);
    } else if (errno != EINTR) {
      return;
    }
  }
}

void Process::ClosePipe(Stream stream) {
  Pipe& pipe = pipes_[stream];
  if (pipe.fd < 0) return;
  if (pipe.watch != 0) loop_->Unwatch(std::exchange(pipe.watch, 0));
  close(std::exchange(pipe.fd, -1));
}

}  // namespace winnow
