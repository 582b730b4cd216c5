#include "worker/host/leftover_processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "base/mutex.h"
#include "fmt/format.h"
#include "worker/host/process_tree.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kAssignment = "WINNOW_ASSIGNMENT=";
constexpr int kMostUnclearCalls = 5;
constexpr std::string_view kWorkFolder = "WINNOW_WORK_DIR=";

// Empty if the file no longer exists or may not be read.
std::string ReadProcFile(pid_t pid, const char* name) {
  return KernelText(fmt::format("/proc/{}/{}", pid, name));
}

bool IsZombie(pid_t pid) {
  const std::string stat = ReadProcFile(pid, "stat");
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || stat.substr(name_end, 3) == ") Z";
}

// Whether some entry of the environment satisfies the condition.
template <typename Condition>
bool HasEntry(std::string_view environment, const Condition& condition) {
  while (!environment.empty()) {
    const size_t end = std::min(environment.find('\0'), environment.size());
    if (condition(environment.substr(0, end))) return true;
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return false;
}

std::vector<pid_t> ProcessIds() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure == std::errc() && rest == name.data() + name.size()) pids.push_back(pid);
  }
  return pids;
}

// 0: the process is gone.
pid_t ParentOf(pid_t pid) {
  const std::string stat = ReadProcFile(pid, "stat");
  // "PID (NAME) STATE PARENT …"; the name may contain anything.
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 4 > stat.size()) return 0;
  pid_t parent = 0;
  std::from_chars(stat.data() + name_end + 4, stat.data() + stat.size(), parent);
  return parent;
}

struct OwnChildren {
  Mutex mutex;
  std::set<pid_t> pids ABSL_GUARDED_BY(mutex);
  int expected ABSL_GUARDED_BY(mutex) = 0;
};
OwnChildren& Own() {
  static OwnChildren children;
  return children;
}

// Reaps an adopted child that has ended by itself, in a session of its own: nobody else does.
void ReapStranger(pid_t pid) {
  MutexLock lock(Own().mutex);
  if (Own().expected == 0) waitpid(pid, nullptr, WNOHANG | __WNOTHREAD);
}

// Children by adoption, beside the own ones: the kernel gives orphans to the first thread of their subreaper.
std::vector<pid_t> AdoptedChildren() {
  const std::string path = fmt::format("/proc/self/task/{}/children", getpid());
  std::vector<pid_t> children = ProcessIdsIn(KernelText(path));
  if (!children.empty() || access(path.c_str(), R_OK) == 0) return children;
  // Kernels without that file.
  for (const pid_t pid : ProcessIds()) {
    if (ParentOf(pid) == getpid()) children.push_back(pid);
  }
  return children;
}

bool IsOurs(pid_t pid, const RunAs* run_as) {
  const auto user = UserOf(pid);
  return user.has_value() && (*user == geteuid() || (run_as != nullptr && run_as->Contains(*user)));
}

std::set<pid_t> SelfAndAncestors() {
  std::set<pid_t> pids;
  for (pid_t pid = getpid(); pid > 0 && pids.insert(pid).second;) pid = ParentOf(pid);
  return pids;
}

// Kills the process if `condition(environment)` still holds for it, and returns its descriptor. The
// descriptor guarantees that the checked process is the killed one, although ids are reused.
template <typename Condition>
std::optional<int> KillIf(pid_t pid, const Condition& condition) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return std::nullopt;
  if (condition(ReadProcFile(pid, "environ")) && syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0) == 0)
    return fd;
  close(fd);
  return std::nullopt;
}

// Waits until `deadline`; returns whether the process has ended.
bool AwaitEnd(int pidfd, Clock::time_point deadline) {
  pollfd wait{pidfd, POLLIN, 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int ready = poll(&wait, 1, static_cast<int>(std::max<int64_t>(left, 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

void AddOwnChild(pid_t pid) {
  MutexLock lock(Own().mutex);
  Own().pids.insert(pid);
}

void RemoveOwnChild(pid_t pid) {
  MutexLock lock(Own().mutex);
  Own().pids.erase(pid);
}

bool IsOwnChild(pid_t pid) {
  MutexLock lock(Own().mutex);
  return Own().pids.contains(pid);
}

ExpectedChild::ExpectedChild() {
  MutexLock lock(Own().mutex);
  ++Own().expected;
}

ExpectedChild::~ExpectedChild() {
  MutexLock lock(Own().mutex);
  --Own().expected;
}

std::string AssignmentMark(std::string_view assignment) {
  return fmt::format("{}{}", kAssignment, assignment);
}
std::string WorkFolderMark(std::string_view work) { return fmt::format("{}{}", kWorkFolder, work); }

bool HasMark(pid_t pid, std::string_view mark) {
  return HasEntry(ReadProcFile(pid, "environ"), [mark](std::string_view entry) { return entry == mark; });
}

LeftoverCount KillLeftovers(std::string_view work, std::chrono::milliseconds patience, const RunAs* run_as) {
  const std::string mark = WorkFolderMark(work);
  const std::set<pid_t> spared = SelfAndAncestors();
  const Clock::time_point deadline = Clock::now() + patience;
  // Requires both marks: a user may have set the folder's variable in a shell.
  const auto left_over = [&mark](const std::string& environment) {
    return HasEntry(environment, [&](std::string_view entry) { return entry == mark; }) &&
           HasEntry(environment, [](std::string_view entry) { return entry.starts_with(kAssignment); });
  };
  LeftoverCount count;
  // Repeats, because a process may have started another in the meantime.
  for (bool found = true; found && count.all_gone;) {
    found = false;
    std::vector<int> killed;
    for (const pid_t pid : ProcessIds()) {
      if (spared.contains(pid) || !IsOurs(pid, run_as)) continue;
      if (const auto fd = KillIf(pid, left_over); fd.has_value()) killed.push_back(*fd);
    }
    for (const int fd : killed) {
      found = true;
      ++count.killed;
      if (!AwaitEnd(fd, deadline)) count.all_gone = false;
      close(fd);
    }
    if (Clock::now() >= deadline && found) count.all_gone = false;
  }
  return count;
}

bool MarkedOrphans::KillSome(bool again) {
  if (mark_.empty()) return again;
  std::erase_if(killed_, [](pid_t pid) {
    const pid_t reaped = waitpid(pid, nullptr, WNOHANG);
    return reaped == pid || (reaped < 0 && errno == ECHILD);
  });
  const bool by_user = user_ != nullptr && user_->IsAlone();
  bool ended = false;
  // The children of reaped processes are ours by now.
  const auto marked = [this](const std::string& environment) {
    return HasEntry(environment, [this](std::string_view entry) { return entry == mark_; });
  };
  bool unclear = false;
  for (const pid_t pid : AdoptedChildren()) {
    if (std::find(killed_.begin(), killed_.end(), pid) != killed_.end() || IsOwnChild(pid)) continue;
    if (by_user && UserOf(pid) == user_->user().uid) {
      // One call for all of them, so that none escapes by starting others.
      if (!std::exchange(ended, true)) EndProcessesOf(user_->user());
      killed_.push_back(pid);
    } else if (const auto fd = KillIf(pid, marked); fd.has_value()) {
      close(*fd);
      killed_.push_back(pid);
    } else if (IsZombie(pid)) {
      ReapStranger(pid);
    } else if (!by_user && ReadProcFile(pid, "environ").empty()) {
      unclear = true;
    }
  }
  // A program that is just starting shows no environment yet, but some programs never have one.
  return again || !killed_.empty() || (unclear && ++unclear_calls_ <= kMostUnclearCalls);
}

}  // namespace winnow
