#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A winnow-worker process that this server watches: its own child, or one that an earlier server had started
// and that is still at work. Not thread-safe.
class WorkerProcess {
 public:
  // Starts `arguments` (the program first) in a process group of its own; what it prints goes to the end of
  // `log`; of this process's open files it gets none. The arguments are noted in `work_dir`. TLS files and tokens that this process's environment names do
  // not reach it.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const std::vector<std::string>& arguments,
                                                              const std::filesystem::path& work_dir,
                                                              const std::filesystem::path& log);
  // Runs the program to its end with --check as well: FAILED_PRECONDITION with its words if it refuses the
  // arguments.
  static absl::Status Check(std::vector<std::string> arguments);
  // The living worker that holds the lock of `work_dir`; null: there is none.
  static std::unique_ptr<WorkerProcess> Adopt(const std::filesystem::path& work_dir);
  // The process goes on.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void Signal(int signal);
  // Becomes readable when the process has ended.
  int descriptor() const { return descriptor_; }
  pid_t pid() const { return pid_; }
  // REQUIRES it has ended: how, in a few words; an adopted one's end is not known.
  std::string Reap();
  // Whether it was started with these arguments.
  bool StartedWith(const std::vector<std::string>& arguments) const { return arguments == arguments_; }

 private:
  WorkerProcess(pid_t pid, int descriptor, bool child, std::vector<std::string> arguments)
      : pid_(pid), descriptor_(descriptor), child_(child), arguments_(std::move(arguments)) {}
  pid_t pid_;
  int descriptor_;
  bool child_;
  std::vector<std::string> arguments_;
};

}  // namespace winnow
