#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/files.h"
#include "worker/host/capabilities.h"
#include "worker/host/run_as.h"

namespace winnow {

// During its lifetime, the calling thread opens files with the permissions of a trainer's user, so that the
// worker reads nothing for a job that its trials may not read. Without a user: no effect.
class FilesAsUser {
 public:
  explicit FilesAsUser(const std::optional<TrainerUser>& user);
  ~FilesAsUser();
  FilesAsUser(const FilesAsUser&) = delete;
  FilesAsUser& operator=(const FilesAsUser&) = delete;

  // RESOURCE_EXHAUSTED: the thread does not have the user's permissions, and is to open nothing.
  const absl::Status& status() const { return status_; }

 private:
  const bool changed_;
  uid_t uid_ = 0;
  gid_t gid_ = 0;
  std::vector<gid_t> groups_;
  Capabilities capabilities_{};
  absl::Status status_;
};

// The files of a channel's path: the file itself, or the regular files of the directory, in order of name,
// without those whose names begin with '.'. FAILED_PRECONDITION: there is none, or it cannot be read.
absl::StatusOr<std::vector<std::filesystem::path>> FilesOfChannel(const std::filesystem::path& path,
                                                                  const std::optional<TrainerUser>& user);

// Opens a regular file. FAILED_PRECONDITION as above.
absl::StatusOr<OpenFile> OpenForUser(const std::filesystem::path& path,
                                     const std::optional<TrainerUser>& user);

// The part of `count` things that is a rank's: contiguous, and about equally many for each. REQUIRES: rank <
// ranks.
struct Share {
  size_t begin = 0;
  size_t end = 0;
};
Share ShareOf(size_t count, int rank, int ranks);

}  // namespace winnow
