#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A winnow-worker process that this server supervises: its own child, or a live one that an earlier server
// started. Not thread-safe.
class WorkerProcess {
 public:
  // Starts `arguments` (the program first) in its own process group. Its output is appended to `log`; it
  // inherits no open files. The arguments are recorded in `work_dir`. TLS files and tokens named by this
  // process's environment are not passed on.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const std::vector<std::string>& arguments,
                                                              const std::filesystem::path& work_dir,
                                                              const std::filesystem::path& log);
  // Also runs the program with --check to its end: FAILED_PRECONDITION with its output if it refuses the
  // arguments.
  static absl::Status Check(std::vector<std::string> arguments);
  // Returns the live worker that holds the lock of `work_dir`; null: none.
  static std::unique_ptr<WorkerProcess> Adopt(const std::filesystem::path& work_dir);
  // The process continues.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  void Signal(int signal);
  // Becomes readable when the process has ended.
  int descriptor() const { return descriptor_; }
  pid_t pid() const { return pid_; }
  // REQUIRES: it has ended. Describes how in a few words; unknown for an adopted process.
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
