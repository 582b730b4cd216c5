#include "worker/host/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

namespace winnow {
namespace {

[[noreturn]] void FailChild(int failure, ExecFailure::Step step) {
  const ExecFailure what{step, errno};
  if (write(failure, &what, sizeof what) != sizeof what) _exit(126);
  _exit(127);
}

[[noreturn]] void RunChild(const ChildPlan& plan) {
  setsid();
  // exec keeps ignored signals and the mask, but a trainer expects the defaults.
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  dup2(plan.input, STDIN_FILENO);
  dup2(plan.output, STDOUT_FILENO);
  dup2(plan.error, STDERR_FILENO);
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (plan.inherited >= 0 && plan.inherited != plan.inherited_as) {
    dup2(plan.inherited, plan.inherited_as);
  } else if (plan.inherited >= 0) {
    fcntl(plan.inherited, F_SETFD, 0);
  }
  if (plan.join_file >= 0 && write(plan.join_file, "0", 1) != 1) FailChild(plan.failure, ExecFailure::kSetup);
  if (plan.bound) sched_setaffinity(0, sizeof plan.processors, &plan.processors);
  if (plan.data.rlim_cur > 0) setrlimit(RLIMIT_DATA, &plan.data);
  if (plan.user != nullptr) {
    umask(022);  // the worker's umask for its own files is stricter
    if (!BecomeUser(*plan.user)) FailChild(plan.failure, ExecFailure::kUser);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);          // after the change of user, which would clear it
  if (getppid() != plan.parent) _exit(127);  // the parent died before the line above
  if (plan.directory != nullptr && chdir(plan.directory) != 0)
    FailChild(plan.failure, ExecFailure::kDirectory);
  int error = ENOENT;
  for (const char* program : plan.programs) {
    execve(program, plan.arguments.data(), plan.environment.data());
    if (errno != ENOENT && errno != ENOTDIR && error == ENOENT) error = errno;
  }
  errno = error;
  FailChild(plan.failure, ExecFailure::kExec);
}

#ifdef __SANITIZE_THREAD__
constexpr bool kMayClone = false;  // only fork() itself prepares the sanitizer's locks
#else
constexpr bool kMayClone = true;
#endif

// Whether kernel or container do not allow what clone3 was asked for.
bool IsNotAllowed(int error) {
  return error == ENOSYS || error == EPERM || error == EINVAL || error == E2BIG;
}

// fork(), with the child in its group from the start where kernel (5.7) and container allow it. Joining a
// group later makes the kernel wait for every processor: about 10 ms instead of 0.06.
pid_t Fork(ChildPlan* plan) {
  if (kMayClone && plan->group_folder >= 0) {
    clone_args arguments{};
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = SIGCHLD;
    arguments.cgroup = static_cast<uint64_t>(plan->group_folder);
    const int join_file = std::exchange(plan->join_file, -1);
    const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
    if (pid >= 0 || !IsNotAllowed(errno)) return pid;
    plan->join_file = join_file;
  }
  return fork();
}

#ifdef __x86_64__
// vfork(), with the child in its group. The child has this frame until it executes the program, so the
// kernel is called from here: what a function called for it would return to, the child would write over.
[[gnu::noinline]] pid_t VforkInto(clone_args* arguments, const ChildPlan& plan) {
  int64_t result = SYS_clone3;
  asm volatile("syscall" : "+a"(result) : "D"(arguments), "S"(sizeof *arguments) : "rcx", "r11", "memory");
  if (result == 0) RunChild(plan);
  if (result >= 0) return static_cast<pid_t>(result);
  errno = static_cast<int>(-result);
  return -1;
}

// The same where it is allowed. Absent: it is not.
std::optional<pid_t> VforkInGroup(ChildPlan* plan) {
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP | CLONE_VM | CLONE_VFORK;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<uint64_t>(plan->group_folder);
  const int join_file = std::exchange(plan->join_file, -1);
  const pid_t pid = VforkInto(&arguments, *plan);
  if (pid >= 0 || !IsNotAllowed(errno)) return pid;
  plan->join_file = join_file;
  return std::nullopt;
}
#else
std::optional<pid_t> VforkInGroup(ChildPlan* /*plan*/) { return std::nullopt; }
#endif

}  // namespace

pid_t ForkAndExec(ChildPlan* plan) {
  // The child borrows the memory of this process until it executes the program, so nothing is copied. Not as
  // another user: the C library changes the user of all threads that it finds in that memory.
  const bool borrows = kMayClone && plan->user == nullptr;
  if (borrows && plan->group_folder >= 0) {
    if (const std::optional<pid_t> pid = VforkInGroup(plan)) return *pid;
  }
  const pid_t pid = borrows && plan->group_folder < 0 && plan->join_file < 0 ? vfork() : Fork(plan);
  if (pid == 0) RunChild(*plan);
  return pid;
}

}  // namespace winnow
