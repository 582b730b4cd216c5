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

// With these a process opens files whatever their permissions are.
constexpr uint32_t kFileCapabilities =
    1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH | 1U << CAP_FOWNER;

// Changes the calling thread alone; the library's function changes the whole process.
bool SetGroupsOfThread(const std::vector<gid_t>& groups) {
  return syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
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
  bool done = GetCapabilities(&capabilities_);
  // setfsuid takes them away from root alone.
  Capabilities fewer = capabilities_;
  fewer[0].effective &= ~kFileCapabilities;
  done = done && SetCapabilities(fewer);
  done = SetGroupsOfThread(user->groups) && done;
  gid_ = static_cast<gid_t>(setfsgid(user->gid));
  uid_ = static_cast<uid_t>(setfsuid(user->uid));
  // Both return the id from before, whether they succeed or not.
  done = done && static_cast<gid_t>(setfsgid(user->gid)) == user->gid &&
         static_cast<uid_t>(setfsuid(user->uid)) == user->uid;
  if (!done) {
    status_ = absl::ResourceExhaustedError(
        fmt::format("this worker cannot open files with the permissions of user {}", user->uid));
  }
}

FilesAsUser::~FilesAsUser() {
  if (!changed_) return;
  setfsuid(uid_);
  setfsgid(gid_);
  (void)SetGroupsOfThread(groups_);
  (void)SetCapabilities(capabilities_);
}

absl::StatusOr<std::vector<fs::path>> FilesOfChannel(const fs::path& path,
                                                     const std::optional<TrainerUser>& user) {
  const FilesAsUser as_user(user);
  if (!as_user.status().ok()) return as_user.status();
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
  if (!as_user.status().ok()) return as_user.status();
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
