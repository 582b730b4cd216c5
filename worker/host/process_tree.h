#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

// What /proc/PID/stat says of a process.
struct ProcessLine {
  pid_t parent = 0;
  pid_t session = 0;
  int64_t cpu_ticks = 0;  // of itself, and of children that it has waited for; sysconf(_SC_CLK_TCK) a second
};

// Empty: it is not there any more.
std::optional<ProcessLine> ReadProcess(pid_t pid);
std::map<pid_t, ProcessLine> AllProcesses();
// 0: it is not there any more.
int64_t ResidentBytes(pid_t pid);

// Which processes are one trainer's where there are no control groups: those of its session, what these have
// started in others, and their orphans that were left to this process.
class ProcessTree {
 public:
  // `leader` began a session of its own; `mark` is in the environment of all that it starts.
  ProcessTree(pid_t leader, std::string mark) : leader_(leader), mark_(std::move(mark)) {}

  std::vector<pid_t> Find(const std::map<pid_t, ProcessLine>& all);

 private:
  const pid_t leader_;
  const std::string mark_;
  std::map<pid_t, bool> adopted_;  // orphans that were looked at: whether they have the mark
};

}  // namespace winnow
