#include "worker/host/fork_request.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/host/leftover_processes.h"

namespace winnow {
namespace {

using RequestClock = std::chrono::steady_clock;

constexpr std::string_view kForked = "forked";
constexpr std::string_view kRefused = "refused ";
constexpr std::string_view kGo = "go\n";
constexpr std::string_view kHold = "hold\n";
constexpr std::string_view kFork = "fork";
constexpr size_t kMostAnswerBytes = 1024;

// Closes a descriptor at the end of its scope.
class ScopedFd {
 public:
  explicit ScopedFd(int fd = -1) : fd_(fd) {}
  ~ScopedFd() { Close(); }
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }
  void Close() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
  }
  void Reset(int fd) {
    Close();
    fd_ = fd;
  }

 private:
  int fd_;
};

absl::Status NoChild(const char* what) {
  return absl::UnavailableError(fmt::format("{}: {}", what, strerrordesc_np(errno)));
}

// What the child becomes: texts that end with NUL. The process that it must be a child of, the working
// directory, the number of words of the command, the words, and the environment.
std::string PlanText(const ProcessSpec& spec) {
  std::string text;
  const auto add = [&text](std::string_view field) {
    text += field;
    text += '\0';
  };
  add(std::to_string(getpid()));
  add(spec.working_directory);
  add(std::to_string(spec.command.size()));
  for (const std::string& word : spec.command) add(word);
  for (const std::string& entry : spec.environment) add(entry);
  return text;
}

bool WritePlan(const ProcessSpec& spec, ScopedFd* file) {
  file->Reset(memfd_create("winnow-fork", MFD_CLOEXEC));
  if (file->get() < 0) return false;
  const std::string text = PlanText(spec);
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(file->get(), text.data() + done, text.size() - done);
    if (wrote < 0) return false;
    done += static_cast<size_t>(wrote);
  }
  return lseek(file->get(), 0, SEEK_SET) == 0;
}

bool OpenStream(ScopedFd* reader, ScopedFd* writer) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reader->Reset(ends[0]);
  writer->Reset(ends[1]);
  return true;
}

// Sends the request with its descriptors: the plan, standard output, standard error, the control socket, and
// the folder of the child's control group, if it has one (otherwise -1).
bool SendRequest(int parent, const std::array<int, 5>& descriptors) {
  iovec bytes{const_cast<char*>(kFork.data()), kFork.size()};
  const size_t size = sizeof(int) * (descriptors.back() >= 0 ? descriptors.size() : descriptors.size() - 1);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> space{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = CMSG_SPACE(size);
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(header), descriptors.data(), size);
  return sendmsg(parent, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(kFork.size());
}

// The first line on the control socket, and who has written it, as the kernel knows.
struct Answer {
  std::string line;
  ucred writer{};
};

std::optional<Answer> ReadAnswer(int control, RequestClock::time_point deadline) {
  Answer answer;
  while (answer.line.find('\n') == std::string::npos && answer.line.size() < kMostAnswerBytes) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - RequestClock::now()).count();
    pollfd wait{control, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) errno = ETIMEDOUT;
    if (ready <= 0) return std::nullopt;
    std::array<char, kMostAnswerBytes> buffer;
    iovec bytes{buffer.data(), buffer.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred))> space{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
    const ssize_t got = recvmsg(control, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got == 0) errno = EPIPE;
    if (got <= 0) return std::nullopt;
    answer.line.append(buffer.data(), static_cast<size_t>(got));
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&answer.writer, CMSG_DATA(header), sizeof answer.writer);
    }
  }
  answer.line.resize(std::min(answer.line.find('\n'), answer.line.size()));
  return answer;
}

// Why the parent, a child of ours, can take no request; null: it can.
const char* Obstacle(pid_t parent) {
  siginfo_t info{};
  constexpr int kAsked = WEXITED | WSTOPPED | WNOHANG | WNOWAIT;
  if (waitid(P_PID, static_cast<id_t>(parent), &info, kAsked) != 0) return "it is gone";
  if (info.si_pid == 0) return nullptr;
  return info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED ? "it is stopped" : "it is gone";
}

// Whether the process is our own child, and none that we watch already: a parent may give the socket away.
bool IsNewChild(pid_t id) {
  siginfo_t info{};
  return id > 1 && !IsOwnChild(id) &&
         waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool LeadsGroup(pid_t id) { return getpgid(id) == id; }

void EndNewChild(pid_t id) {
  if (IsNewChild(id) && kill(id, SIGKILL) == 0) waitpid(id, nullptr, 0);
}

// Joining a group later makes the kernel wait for every processor, so a parent forks into it if it can.
bool IsIn(const Cgroup& group, pid_t child) {
  const std::vector<pid_t> processes = group.Processes();
  return std::find(processes.begin(), processes.end(), child) != processes.end();
}

// What the child of ForkAndExec does for itself. Its resource limits are those of its parent.
bool ApplyLimits(const ChildSetup& setup, pid_t child) {
  if (setup.group != nullptr && !IsIn(*setup.group, child)) {
    const std::string text = std::to_string(child);
    const int file = setup.group->JoinFile();
    if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return false;
  }
  if (!setup.processors.empty()) {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    for (const int processor : setup.processors) CPU_SET(processor, &processors);
    sched_setaffinity(child, sizeof processors, &processors);
  }
  const rlimit data{setup.data_bytes, setup.data_bytes};
  return setup.data_bytes == 0 || prlimit(child, RLIMIT_DATA, &data, nullptr) == 0;
}

}  // namespace

struct ComingChild::Parts {
  ProcessSpec spec;  // as far as it is needed once the child is there
  int control;
  bool holds;
  RequestClock::time_point deadline;
  ScopedFd output, error;
  ExpectedChild expected;
};

ComingChild::ComingChild(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

ComingChild::~ComingChild() {
  if (parts_ == nullptr) return;
  const std::optional<Answer> answer = ReadAnswer(parts_->control, parts_->deadline);
  if (answer) EndNewChild(answer->writer.pid);
}

absl::StatusOr<std::unique_ptr<ComingChild>> ComingChild::Ask(const ForkRequest& request) {
  auto parts = std::make_unique<Parts>();
  parts->deadline = RequestClock::now() + request.patience;
  ScopedFd child_control(request.child_control);
  if (const char* const why = Obstacle(request.parent_id)) return absl::UnavailableError(why);
  const int on = 1;
  ScopedFd plan, out_writer, error_writer;
  if (setsockopt(request.control, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      !WritePlan(request.spec, &plan) || !OpenStream(&parts->output, &out_writer) ||
      !OpenStream(&parts->error, &error_writer))
    return NoChild("cannot make what a child needs");
  const int group = request.spec.setup.group == nullptr ? -1 : request.spec.setup.group->Folder();
  if (!SendRequest(request.parent,
                   {plan.get(), out_writer.get(), error_writer.get(), child_control.get(), group}))
    return NoChild("it takes no request");
  parts->spec.command = {request.spec.command[0]};
  parts->spec.mark = request.spec.mark;
  parts->spec.setup = request.spec.setup;
  parts->control = request.control;
  parts->holds = request.holds;
  return std::unique_ptr<ComingChild>(new ComingChild(std::move(parts)));
}

absl::StatusOr<std::unique_ptr<Process>> ComingChild::Take(EventLoop* loop, Process::Events events) {
  const std::unique_ptr<Parts> parts = std::move(parts_);
  const std::optional<Answer> answer = ReadAnswer(parts->control, parts->deadline);
  if (!answer && errno == ETIMEDOUT) return absl::DeadlineExceededError("no child has come in time");
  if (!answer) return NoChild("no child has come");
  const pid_t child = answer->writer.pid;
  if (answer->line.starts_with(kRefused)) {
    EndNewChild(child);
    return absl::FailedPreconditionError(answer->line.substr(kRefused.size()));
  }
  if (answer->line != kForked || !IsNewChild(child) || !LeadsGroup(child))
    return absl::FailedPreconditionError("what it has started is no child of this worker");
  auto process = Process::Adopt(loop, parts->spec, child, parts->output.Release(), parts->error.Release(),
                                std::move(events));
  if (!process.ok()) return absl::UnavailableError(process.status().message());
  if (!ApplyLimits(parts->spec.setup, child)) return NoChild("cannot set the limits of its child");
  const std::string_view order = parts->holds ? kHold : kGo;
  if (send(parts->control, order.data(), order.size(), MSG_NOSIGNAL | MSG_DONTWAIT) !=
      static_cast<ssize_t>(order.size()))
    return NoChild("its child has gone");
  return process;
}

}  // namespace winnow
