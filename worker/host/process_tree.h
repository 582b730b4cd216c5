#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace winnow {

// The content of a file of the kernel, such as /proc/PID/stat. Empty if it is gone, also while it is read, or
// may not be read.
std::string KernelText(const std::string& path);
// The ids that such a file lists, such as cgroup.procs.
std::vector<pid_t> ProcessIdsIn(std::string_view text);

// Fields of /proc/PID/stat.
struct ProcessLine {
  char state = 0;  // 'T': stopped, 'Z': it has ended, proc(5)
  pid_t parent = 0;
  pid_t session = 0;
  int64_t cpu_ticks = 0;  // its own and its reaped children's; sysconf(_SC_CLK_TCK) per second
};

// Empty: the process is gone.
std::optional<ProcessLine> ReadProcess(pid_t pid);
// Whether a signal has stopped the process, a child of this one.
bool IsStopped(pid_t child);
std::map<pid_t, ProcessLine> AllProcesses();
// 0: the process is gone.
int64_t ResidentBytes(pid_t pid);

// The processes of one trainer where there are no control groups: those of its session, their descendants in
// other sessions, and their orphans that became children of this process.
class ProcessTree {
 public:
  // `leader` began its own session; all its descendants have `mark` in their environment.
  ProcessTree(pid_t leader, std::string mark) : leader_(leader), mark_(std::move(mark)) {}

  std::vector<pid_t> Find(const std::map<pid_t, ProcessLine>& all);

 private:
  const pid_t leader_;
  const std::string mark_;
  std::map<pid_t, bool> adopted_;  // orphans already checked, and whether they have the mark
};

}  // namespace winnow
