#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace winnow {

// The lock of a work folder: WORK/lock is locked for as long as this lives and holds "PID\n".
class WorkFolderLock {
 public:
  // Creates the folder. FAILED_PRECONDITION, with the process id of the owner, if another process has it.
  static absl::StatusOr<WorkFolderLock> Take(const std::filesystem::path& work);
  WorkFolderLock(WorkFolderLock&& other) noexcept;
  WorkFolderLock& operator=(WorkFolderLock&&) = delete;
  ~WorkFolderLock();

 private:
  explicit WorkFolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace winnow
