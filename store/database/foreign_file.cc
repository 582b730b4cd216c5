#include "store/database/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace winnow {
namespace {

constexpr uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

// Finds a file without opening it: waits for no FIFO, triggers no device, and releases no lock.
OwnedDescriptor FindAt(int folder, const std::string& path, uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = resolve;
  long found = -1;
  do {
    found = syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  } while (found < 0 && (errno == EINTR || errno == EAGAIN));
  return OwnedDescriptor(static_cast<int>(found));
}

bool LeadsOut(int error) { return error == EXDEV || error == ELOOP; }

int64_t RegularBytesAt(int folder, const std::string& path, uint64_t resolve) {
  const OwnedDescriptor found = FindAt(folder, path, resolve);
  struct stat stat {};
  if (!found.ok() || fstat(found.get(), &stat) != 0 || !S_ISREG(stat.st_mode)) return 0;
  return stat.st_size;
}

absl::Status NotFound(int error, uint64_t resolve) {
  if (resolve == kBeneath && LeadsOut(error)) return absl::PermissionDeniedError("leaves its directory");
  if (error == ENOENT || error == ENOTDIR) return absl::InvalidArgumentError("does not exist");
  return absl::InvalidArgumentError(fmt::format("cannot be read: {}", strerrordesc_np(error)));
}

}  // namespace

GoOn GoOnFor(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  return [end, limit] {
    if (std::chrono::steady_clock::now() < end) return absl::OkStatus();
    return absl::DeadlineExceededError(
        fmt::format("takes longer than {} s to read", std::chrono::duration<double>(limit).count()));
  };
}

OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

OwnedDescriptor::~OwnedDescriptor() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<ForeignFile> ForeignFile::OpenAt(int folder, const std::string& path, uint64_t resolve,
                                                const MayOpen& may_open) {
  const OwnedDescriptor found = FindAt(folder, path, resolve);
  if (!found.ok()) return NotFound(errno, resolve);
  struct stat stat {};
  if (fstat(found.get(), &stat) != 0) return NotFound(errno, resolve);
  if (S_ISDIR(stat.st_mode)) return absl::InvalidArgumentError("is a directory; expected a regular file");
  if (!S_ISREG(stat.st_mode)) return absl::InvalidArgumentError("is not a regular file");
  if (may_open != nullptr && !may_open(stat.st_dev, stat.st_ino)) {
    return absl::InvalidArgumentError("is used by this server itself; expected another file");
  }
  ForeignFile file;
  const std::string same = fmt::format("/proc/self/fd/{}", found.get());
  file.file_ = OwnedDescriptor(open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.file_.ok())
    return absl::InvalidArgumentError(fmt::format("cannot be read: {}", strerrordesc_np(errno)));
  file.bytes_ = stat.st_size;
  file.log_bytes_ = RegularBytesAt(folder, path + "-wal", resolve);
  file.journal_bytes_ = RegularBytesAt(folder, path + "-journal", resolve);
  return file;
}

absl::StatusOr<ForeignFile> ForeignFile::Open(const std::string& path, const MayOpen& may_open) {
  return OpenAt(AT_FDCWD, path, 0, may_open);
}

absl::StatusOr<ForeignFile> ForeignFile::OpenBeneath(int folder, const std::string& path,
                                                     const MayOpen& may_open) {
  return OpenAt(folder, path, kBeneath, may_open);
}

bool StaysBeneath(int folder, const std::string& path) {
  return FindAt(folder, path, kBeneath).ok() || !LeadsOut(errno);
}

}  // namespace winnow
