#include "worker/data/local_files.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Changes the calling thread alone; the library's function changes the whole process.
void SetGroupsOfThread(const std::vector<gid_t>& groups) {
  static_cast<void>(syscall(SYS_setgroups, groups.size(), groups.data()));
}

absl::Status Unreadable(const fs::path& path, int code) {
  return absl::FailedPreconditionError(fmt::format("{} cannot be read: {}", path.string(), strerror(code)));
}

}  // namespace

FilesAsUser::FilesAsUser(const std::optional<TrainerUser>& user) : changed_(user.has_value()) {
  if (!changed_) return;
  const int count = getgroups(0, nullptr);
  groups_.resize(static_cast<size_t>(std::max(count, 0)));
  if (count > 0 && getgroups(count, groups_.data()) != count) groups_.clear();
  SetGroupsOfThread(user->groups);
  gid_ = static_cast<gid_t>(setfsgid(user->gid));
  uid_ = static_cast<uid_t>(setfsuid(user->uid));  // from root: without its capabilities for files too
}

FilesAsUser::~FilesAsUser() {
  if (!changed_) return;
  setfsuid(uid_);
  setfsgid(gid_);
  SetGroupsOfThread(groups_);
}

absl::StatusOr<std::vector<fs::path>> FilesOfChannel(const fs::path& path,
                                                     const std::optional<TrainerUser>& user) {
  const FilesAsUser as_user(user);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error) return Unreadable(path, error.value());
  if (fs::is_regular_file(status)) return std::vector<fs::path>{path};
  if (!fs::is_directory(status)) {
    return absl::FailedPreconditionError(path.string() + " is neither a file nor a directory");
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->path().filename().string()[0] != '.' && entry->is_regular_file(ignored))
      files.push_back(entry->path());
  }
  if (error) return Unreadable(path, error.value());
  if (files.empty())
    return absl::FailedPreconditionError(path.string() + " contains no regular file; expected data files");
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<OpenFile> OpenForUser(const fs::path& path, const std::optional<TrainerUser>& user) {
  const FilesAsUser as_user(user);
  // Not a FIFO's reader or a device's, if it was exchanged.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return Unreadable(path, errno);
  OpenFile file(path, descriptor);
  struct stat about {};
  if (fstat(descriptor, &about) != 0) return Unreadable(path, errno);
  if (!S_ISREG(about.st_mode)) return absl::FailedPreconditionError(path.string() + " is not a regular file");
  return file;
}

Share ShareOf(size_t count, int rank, int ranks) {
  const size_t each = count / static_cast<size_t>(ranks);
  const size_t more = count % static_cast<size_t>(ranks);
  const auto begin = [&](size_t number) { return each * number + std::min(number, more); };
  return {begin(static_cast<size_t>(rank)), begin(static_cast<size_t>(rank) + 1)};
}

}  // namespace winnow
