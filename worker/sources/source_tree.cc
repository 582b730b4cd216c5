#include "worker/sources/source_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <system_error>

#include "artifact/files.h"
#include "artifact/folder.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::Status SystemError(const fs::path& path, const std::error_code& error) {
  return FileError(path, "cannot be copied", error.value());
}

// Calls `each` for everything below the folder and for the folder itself, which comes last. Works on
// descriptors of folders, because their content was written by others.
absl::Status ForTree(
    const OpenFolder& folder,
    const std::function<absl::Status(int folder, const std::string& name, const struct stat&)>& each) {
  return folder.ForEach([&](const std::string& name, const struct stat& about) -> absl::Status {
    if (S_ISDIR(about.st_mode)) {
      // A program may have taken its own permissions away.
      const bool may = about.st_uid == geteuid() || geteuid() == 0;
      if (may && fchmodat(folder.descriptor(), name.c_str(), 0700, 0) != 0)
        return FileError(folder.path() / name, "cannot be opened", errno);
      const absl::StatusOr<OpenFolder> inner = folder.Inner(name);
      if (!inner.ok()) return inner.status();
      if (absl::Status status = ForTree(*inner, each); !status.ok()) return status;
    }
    return each(folder.descriptor(), name, about);
  });
}

// The new folders get no permissions of the old ones: nobody but root could write into a copy of a sealed
// one.
absl::Status CopyFolder(const fs::path& from, const fs::path& to) {
  if (mkdir(to.c_str(), 0700) != 0) return FileError(to, "cannot be made", errno);
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    std::error_code failed;
    if (fs::is_directory(entry->symlink_status(failed))) {
      if (absl::Status status = CopyFolder(path, to / path.filename()); !status.ok()) return status;
      continue;
    }
    if (!failed) fs::copy(path, to / path.filename(), fs::copy_options::copy_symlinks, failed);
    if (failed) return SystemError(to / path.filename(), failed);
  }
  return error ? SystemError(from, error) : absl::OkStatus();
}

}  // namespace

absl::Status CopyTree(const fs::path& from, const fs::path& to, uid_t uid, gid_t gid) {
  if (absl::Status status = CopyFolder(from, to); !status.ok()) return status;
  const absl::StatusOr<OpenFolder> folder = OpenFolder::Open(FolderName(to));
  if (!folder.ok()) return folder.status();
  const auto give = [&](int parent, const std::string& name, const struct stat& about) -> absl::Status {
    if (!S_ISLNK(about.st_mode)) {
      const mode_t mode = S_ISDIR(about.st_mode) || (about.st_mode & S_IXUSR) != 0 ? 0700 : 0600;
      if (fchmodat(parent, name.c_str(), mode, 0) != 0)
        return FileError(to / name, "cannot be made writable", errno);
    }
    if (uid == static_cast<uid_t>(-1) || fchownat(parent, name.c_str(), uid, gid, AT_SYMLINK_NOFOLLOW) == 0)
      return absl::OkStatus();
    return FileError(to / name, "cannot be given to the trainers' user", errno);
  };
  if (absl::Status status = ForTree(*folder, give); !status.ok()) return status;
  if (uid == static_cast<uid_t>(-1) || fchown(folder->descriptor(), uid, gid) == 0) return absl::OkStatus();
  return FileError(to, "cannot be given to the trainers' user", errno);
}

absl::StatusOr<int64_t> SealTree(const fs::path& folder) {
  const absl::StatusOr<OpenFolder> open = OpenFolder::Open(FolderName(folder));
  if (!open.ok()) return open.status();
  if (fchown(open->descriptor(), geteuid(), getegid()) != 0)
    return FileError(folder, "cannot be sealed", errno);
  if (absl::Status status = open->SetMode(0700); !status.ok()) return status;
  int64_t bytes = 0;
  const auto seal = [&](int parent, const std::string& name, const struct stat& about) -> absl::Status {
    // A link into another user's file would have it sealed in place of the program's own.
    const bool foreign = about.st_nlink > 1 && !S_ISDIR(about.st_mode) && about.st_uid != geteuid();
    if (foreign || !(S_ISDIR(about.st_mode) || S_ISREG(about.st_mode) || S_ISLNK(about.st_mode))) {
      if (unlinkat(parent, name.c_str(), 0) == 0) return absl::OkStatus();
      return FileError(folder / name, "cannot be removed", errno);
    }
    bytes += about.st_blocks * 512;
    if (fchownat(parent, name.c_str(), geteuid(), getegid(), AT_SYMLINK_NOFOLLOW) != 0)
      return FileError(folder / name, "cannot be sealed", errno);
    if (S_ISLNK(about.st_mode)) return absl::OkStatus();
    const mode_t mode = S_ISDIR(about.st_mode) || (about.st_mode & S_IXUSR) != 0 ? 0555 : 0444;
    if (fchmodat(parent, name.c_str(), mode, 0) != 0)
      return FileError(folder / name, "cannot be sealed", errno);
    return absl::OkStatus();
  };
  if (absl::Status status = ForTree(*open, seal); !status.ok()) return status;
  if (absl::Status status = open->SetMode(0555); !status.ok()) return status;
  if (syncfs(open->descriptor()) != 0) return FileError(folder, "cannot be written to disk", errno);
  return bytes;
}

absl::Status RemoveSource(const fs::path& folder) {
  const absl::StatusOr<OpenFolder> open = OpenFolder::Open(FolderName(folder));
  if (absl::IsNotFound(open.status())) return absl::OkStatus();
  if (open.ok()) {
    (void)open->SetMode(0700);
    const auto leave = [](int, const std::string&, const struct stat&) { return absl::OkStatus(); };
    if (absl::Status status = ForTree(*open, leave); !status.ok()) return status;
  }
  const absl::StatusOr<OpenFolder> parent = OpenFolder::Open(FolderName(folder.parent_path(), ""));
  if (!parent.ok()) return parent.status();
  return parent->Remove(folder.filename().string());
}

}  // namespace winnow
