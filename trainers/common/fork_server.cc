#include "trainers/common/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace winnow {
namespace {

constexpr const char* kParentVariable = "WINNOW_PARENT_FD";
constexpr const char* kControlOfChild = "WINNOW_CONTROL_FD";
constexpr const char* kAssignmentVariable = "WINNOW_ASSIGNMENT";
constexpr std::string_view kControlEntry = "WINNOW_CONTROL_FD=";
constexpr std::string_view kGo = "go";
constexpr std::string_view kHold = "hold";
constexpr int kChildFailed = 126;

// The plan, standard output, standard error, the control socket, and the folder of the control group in which
// the child is to be born; -1: it was not given.
using RequestFiles = std::array<int, 5>;

std::optional<int> WholeNumberOf(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0)
    return std::nullopt;
  return number;
}

// The socket that the variable names; -1: none.
int SocketOf(const char* variable) {
  const char* const text = getenv(variable);
  const std::optional<int> number = text == nullptr ? std::nullopt : WholeNumberOf(text);
  struct stat about {};
  return number && fstat(*number, &about) == 0 && S_ISSOCK(about.st_mode) ? *number : -1;
}

bool SendText(int socket, std::string_view text) {
  return send(socket, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

// Waits for a request. Absent: there will be none.
std::optional<RequestFiles> ReadRequest(int socket) {
  RequestFiles files;
  files.fill(-1);
  constexpr std::size_t kLeast = sizeof(int) * (std::tuple_size_v<RequestFiles> - 1);
  std::array<char, 64> text;
  iovec bytes{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> space{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space.data();
  message.msg_controllen = space.size();
  // a signal ends it too
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0) return std::nullopt;
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      (header->cmsg_len != CMSG_LEN(sizeof files) && header->cmsg_len != CMSG_LEN(kLeast)))
    return std::nullopt;
  memcpy(files.data(), CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
  return files;
}

struct ChildPlanText {
  pid_t worker = 0;
  std::string directory;
  std::vector<std::string> command, environment;
};

// Texts that end with NUL: the worker's process, the directory, the number of words of the command, the
// words, the environment.
std::optional<ChildPlanText> ReadPlan(int file) {
  struct stat about {};
  if (fstat(file, &about) != 0) return std::nullopt;
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  if (read(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) return std::nullopt;
  std::vector<std::string> fields;
  for (std::size_t begin = 0, end; (end = text.find('\0', begin)) != std::string::npos; begin = end + 1)
    fields.push_back(text.substr(begin, end - begin));
  if (fields.size() < 3) return std::nullopt;
  const std::optional<int> worker = WholeNumberOf(fields[0]), words = WholeNumberOf(fields[2]);
  if (!worker || !words || static_cast<std::size_t>(*words) > fields.size() - 3) return std::nullopt;
  const auto end_of_command = fields.begin() + 3 + *words;
  return ChildPlanText{
      *worker, fields[1], {fields.begin() + 3, end_of_command}, {end_of_command, fields.end()}};
}

// The environment that the system shows is the one of the parent's start. The worker finds the processes of
// an assignment by this entry, so it is written over, in place.
bool WriteMark(const std::vector<std::string>& environment) {
  const std::string name = std::string(kAssignmentVariable) + "=";
  const auto mark = std::find_if(environment.begin(), environment.end(),
                                 [&name](const std::string& entry) { return entry.starts_with(name); });
  char* const shown = getenv(kAssignmentVariable);
  if (mark == environment.end() || shown == nullptr) return false;
  const std::string_view value = std::string_view(*mark).substr(name.size());
  if (value.size() > strlen(shown)) return false;
  memcpy(shown, value.data(), value.size());
  shown[value.size()] = '\0';
  return true;
}

// Whether this program, as it was started, is the command: with arguments, or started by another program, it
// may be only a part of it.
bool IsCommand(const std::vector<std::string>& command, Arguments arguments) {
  if (command.empty() || (command.size() != 1 && arguments == Arguments::kNone)) return false;
  const std::string_view name = command[0];
  return name.substr(name.rfind('/') + 1) == program_invocation_short_name;
}

// Where a process that was started before its turn hears that it may train; -1: it may.
int turn_socket = -1;
bool keeps_turn_socket = false;  // it is the control socket too

// Takes no more than the line, because what follows it is for others. Absent: a signal came, or the stream
// has ended.
std::optional<std::string> ReadOrder(int socket) {
  std::string line;
  while (true) {
    // poll, unlike recv, ends when a signal was handled
    pollfd wait{socket, POLLIN, 0};
    std::array<char, 1024> buffer;
    if (poll(&wait, 1, -1) <= 0) return std::nullopt;
    const ssize_t seen = recv(socket, buffer.data(), buffer.size(), MSG_PEEK);
    if (seen <= 0) return std::nullopt;
    const std::string_view text(buffer.data(), static_cast<std::size_t>(seen));
    const std::size_t end = text.find('\n');
    const std::size_t taken = end == std::string_view::npos ? text.size() : end + 1;
    if (recv(socket, buffer.data(), taken, 0) != static_cast<ssize_t>(taken)) return std::nullopt;
    line += text.substr(0, end);
    if (end != std::string_view::npos) return line;
  }
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kEndsAtOnce = false;  // the sanitizers say at the exit what they have found
#else
constexpr bool kEndsAtOnce = true;
#endif

// Ends a child whose main has returned. What libraries and static objects do at an exit is left to the
// parent, because the child would have to copy or to map every page that they touch.
void EndAtOnce(int code, void* /*unused*/) {
  fflush(nullptr);
  _exit(code);
}

// Becomes the process that the plan describes. False: it cannot.
bool BecomeChild(std::optional<ChildPlanText> plan, const RequestFiles& files, Arguments arguments) {
  const auto& [plan_file, output, error, control, group] = files;
  if (!plan) return false;
  if (!IsCommand(plan->command, arguments) || !WriteMark(plan->environment)) {
    SendText(control, "refused its command is not this program alone\n");
    return false;
  }
  if (!plan->directory.empty() && chdir(plan->directory.c_str()) != 0) return false;
  if (dup2(output, STDOUT_FILENO) < 0 || dup2(error, STDERR_FILENO) < 0) return false;
  const int kept = fcntl(control, F_DUPFD, 3);
  for (const int file : files) {
    if (file >= 0) close(file);
  }
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (kept < 0 || getppid() != plan->worker || !SendText(kept, "forked\n")) return false;
  // the worker sets the limits meanwhile
  const std::optional<std::string> order = ReadOrder(kept);
  if (!order || (*order != kGo && *order != kHold)) return false;
  bool may_wait = false;
  static std::vector<std::string> entries;
  static std::vector<char*> pointers;
  entries = std::move(plan->environment);
  for (std::string& entry : entries) {
    if (entry.starts_with(kControlEntry)) {
      entry = std::string(kControlEntry) + std::to_string(kept);
      may_wait = true;
    }
    pointers.push_back(entry.data());
  }
  pointers.push_back(nullptr);
  environ = pointers.data();
  if (*order == kHold) {
    turn_socket = kept;
    keeps_turn_socket = may_wait;
  } else if (!may_wait) {
    close(kept);
  }
  return !kEndsAtOnce || on_exit(EndAtOnce, nullptr) == 0;
}

#ifdef __SANITIZE_THREAD__
constexpr bool kForksIntoGroups = false;  // only fork() itself prepares the sanitizer's locks
#else
constexpr bool kForksIntoGroups = true;
#endif

// fork(), with the child in the control group whose folder it is, where kernel (5.7) and container allow it.
// The child may only fork, by fork() itself, and exit.
pid_t ForkInto(int group) {
  if (kForksIntoGroups && group >= 0) {
    clone_args arguments{};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<std::uint64_t>(group);
    const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
    if (child >= 0) return child;
  }
  return fork();
}

// Forks a process whose parent is the worker, which has started this one: a sibling, which costs one copy of
// this process's page tables, not two. The result is that of fork(). Absent: kernel (5.7) or container do not
// allow it. REQUIRES: this process has no other thread.
std::optional<pid_t> ForkSibling(int group) {
  // Where the C library keeps the thread's id, which it sets in the children of its own fork().
  int* thread_id = nullptr;
  if (!kForksIntoGroups || prctl(PR_GET_TID_ADDRESS, &thread_id) != 0 || thread_id == nullptr)
    return std::nullopt;
  clone_args arguments{};
  arguments.flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  arguments.child_tid = reinterpret_cast<std::uintptr_t>(thread_id);
  if (group >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<std::uint64_t>(group);
  }
  const auto sibling = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  return sibling < 0 ? std::nullopt : std::optional(sibling);
}

// Forks a process whose parent is the worker: a sibling, or a child whose own child is left to the nearest
// subreaper. True: in that process. `socket` is the parent's.
bool Fork(const RequestFiles& files, int socket, Arguments arguments) {
  // Here, and not in each child, which would have to copy more pages and to look up more symbols.
  std::optional<ChildPlanText> plan = ReadPlan(files.front());
  if (const std::optional<pid_t> sibling = ForkSibling(files.back())) {
    if (*sibling > 0) return false;
    close(socket);
    if (!BecomeChild(std::move(plan), files, arguments)) _exit(kChildFailed);
    return true;
  }
  int left[2];  // written when the child between is gone
  if (pipe2(left, O_CLOEXEC) != 0) return false;
  const pid_t between = ForkInto(files.back());
  if (between == 0) {
    const pid_t child = fork();
    if (child != 0) _exit(0);
    close(left[1]);
    char byte;
    const bool is_left = read(left[0], &byte, 1) == 1;
    close(left[0]);
    close(socket);
    if (!is_left || !BecomeChild(std::move(plan), files, arguments)) _exit(kChildFailed);
    return true;
  }
  if (between > 0) {
    while (waitpid(between, nullptr, 0) < 0 && errno == EINTR) {
    }
    (void)!write(left[1], "", 1);
  }
  for (const int end : left) close(end);
  return false;
}

}  // namespace

std::optional<int> ServeForks(const std::function<void()>& prepare, Arguments arguments) {
  const int socket = SocketOf(kParentVariable);
  if (socket < 0) {
    if (const int control = SocketOf(kControlOfChild); control >= 0) SendText(control, "forks\n");
    return std::nullopt;
  }
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  prepare();
  if (!SendText(socket, "ready holds")) return 0;
  while (const std::optional<RequestFiles> files = ReadRequest(socket)) {
    if (Fork(*files, socket, arguments)) return std::nullopt;
    for (const int file : *files) {
      if (file >= 0) close(file);
    }
  }
  return 0;
}

// "go NAME=VALUE NAME=VALUE".
bool AwaitTurn() {
  if (turn_socket < 0) return true;
  const std::optional<std::string> order = ReadOrder(turn_socket);
  if (!keeps_turn_socket) close(turn_socket);
  turn_socket = -1;
  if (!order || order->substr(0, order->find(' ')) != kGo) return false;
  for (std::size_t at = order->find(' '); at != std::string::npos;) {
    const std::size_t end = order->find(' ', at + 1);
    const std::string entry = order->substr(at + 1, end == std::string::npos ? end : end - at - 1);
    const std::size_t equals = entry.find('=');
    if (equals != std::string::npos) setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    at = end;
  }
  return true;
}

const char* OwnEnvironmentValue(const char* name) { return getenv(name); }

const char* EnvironmentOfParent(const char* name) {
  return getenv(std::string_view(name) == "SM_HPS" ? "WINNOW_PARENT_HPS" : name);
}

}  // namespace winnow
