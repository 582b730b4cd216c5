#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Polled while a file is read: a status that is not OK ends the reading and is its result.
using GoOn = std::function<absl::Status()>;

// DEADLINE_EXCEEDED once `limit` from now is over.
GoOn GoOnFor(std::chrono::milliseconds limit);

// A descriptor closed with the object; -1: none.
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

// A regular file of another program, open for reading. The checked file is the one that is read, even if its
// path changes. Never opens a FIFO, a device or a socket, nor a file that the caller forbids: opening and
// closing a database of this process would release SQLite's locks on it.
class ForeignFile {
 public:
  // Called with device and inode of a file that was found and not opened yet. False: it is not opened.
  using MayOpen = std::function<bool(uint64_t device, uint64_t inode)>;

  // Follows links. INVALID_ARGUMENT gives the error, without the file's name.
  static absl::StatusOr<ForeignFile> Open(const std::string& path, const MayOpen& may_open = nullptr);
  // `path` is relative to `folder`; PERMISSION_DENIED if it, or a link on the way, leads out of it, or if a
  // link is absolute, whether or not the target exists.
  static absl::StatusOr<ForeignFile> OpenBeneath(int folder, const std::string& path,
                                                 const MayOpen& may_open = nullptr);

  int descriptor() const { return file_.get(); }
  int64_t bytes() const { return bytes_; }
  // Sizes of the regular files with the same name and "-wal" or "-journal", SQLite's logs; 0: none. As of the
  // opening.
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

// Whether `path`, relative to `folder`, stays beneath it as in OpenBeneath, whether or not it exists.
bool StaysBeneath(int folder, const std::string& path);

}  // namespace winnow
