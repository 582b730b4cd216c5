#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Asked again and again while a file is read: a status that is not OK ends the reading and is its result.
using GoOn = std::function<absl::Status()>;

// DEADLINE_EXCEEDED once `limit` is over, counted from now.
GoOn GoOnFor(std::chrono::milliseconds limit);

// A descriptor that is closed with the object; -1: none.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int fd = -1) : fd_(fd) {}
  OwnedDescriptor(OwnedDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;
  ~OwnedDescriptor();
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

// A regular file of another program's, open for reading. What was checked is what is read, whatever its path leads to
// by then. A FIFO, a device or a socket is never opened, and neither is a file that the caller forbids: to open and
// close a database of this process would give back SQLite's locks on it.
class ForeignFile {
 public:
  // Of a file that was found and not yet opened: device and inode. False: it is not opened.
  using MayOpen = std::function<bool(uint64_t device, uint64_t inode)>;

  // Follows links. INVALID_ARGUMENT says why not, without the file's name.
  static absl::StatusOr<ForeignFile> Open(const std::string& path, const MayOpen& may_open = nullptr);
  // `path` is relative to `folder`; PERMISSION_DENIED where it, or a link on the way, leads out of it, or where a link
  // is absolute: whatever is there.
  static absl::StatusOr<ForeignFile> OpenBeneath(int folder, const std::string& path,
                                                 const MayOpen& may_open = nullptr);

  int descriptor() const { return file_.get(); }
  int64_t bytes() const { return bytes_; }
  // How long the regular files are that have the same name and "-wal" or "-journal", as SQLite's logs do; 0: there is
  // none. As of when it was opened.
  int64_t log_bytes() const { return log_bytes_; }
  int64_t journal_bytes() const { return journal_bytes_; }

 private:
  static absl::StatusOr<ForeignFile> OpenAt(int folder, const std::string& path, uint64_t resolve,
                                            const MayOpen& may_open);
  OwnedDescriptor file_;
  int64_t bytes_ = 0;
  int64_t log_bytes_ = 0;
  int64_t journal_bytes_ = 0;
};

// Whether `path`, relative to `folder`, stays beneath it, whether or not there is anything: as OpenBeneath.
bool StaysBeneath(int folder, const std::string& path);

}  // namespace winnow
