#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace winnow {

// The lock of a work folder: WORK/lock is locked as long as this object lives and contains "PID\n".
class WorkFolderLock {
 public:
  // Creates the folder. FAILED_PRECONDITION, with the owner's process id, if another process has the lock.
  static absl::StatusOr<WorkFolderLock> Take(const std::filesystem::path& work);
  WorkFolderLock(WorkFolderLock&& other) noexcept;
  WorkFolderLock& operator=(WorkFolderLock&&) = delete;
  ~WorkFolderLock();

 private:
  explicit WorkFolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace winnow
