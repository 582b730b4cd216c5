#include "worker/work_folder_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "worker/host/folders.h"

namespace winnow {

namespace fs = std::filesystem;

namespace {

// A server that tests the lock holds it for a moment, so one refusal proves nothing.
bool TakeSoon(int fd) {
  constexpr int kTries = 20;
  constexpr int kPauseMs = 10;
  for (int tries = 1;; ++tries) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || tries == kTries) return false;
    poll(nullptr, 0, kPauseMs);
    errno = EWOULDBLOCK;
  }
}

}  // namespace

absl::StatusOr<WorkFolderLock> WorkFolderLock::Take(const fs::path& work) {
  if (absl::Status status = MakeFolder(work); !status.ok()) return status;
  const fs::path path = work / "lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        fmt::format("cannot open {}: {}", path.string(), strerrordesc_np(errno)));
  }
  WorkFolderLock lock(fd);
  if (!TakeSoon(fd)) {
    if (errno != EWOULDBLOCK) {
      return absl::FailedPreconditionError(
          fmt::format("cannot lock {}: {}", path.string(), strerrordesc_np(errno)));
    }
    std::string pid;
    std::ifstream(path) >> pid;
    return absl::FailedPreconditionError(fmt::format(
        "work directory {} is used by another winnow-worker (process {}); give this one its own --work-dir",
        work.string(), pid.empty() ? "unknown" : pid));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return absl::FailedPreconditionError(
        fmt::format("cannot write {}: {}", path.string(), strerrordesc_np(errno)));
  }
  return lock;
}

WorkFolderLock::WorkFolderLock(WorkFolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

WorkFolderLock::~WorkFolderLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace winnow
