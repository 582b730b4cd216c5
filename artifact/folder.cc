#include "artifact/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMovedUp = ".moved-up-";  // before the number of a folder that is being removed
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

// Translates openat's error for a link or a file in place of a folder.
absl::Status FolderError(const fs::path& path, int code) {
  if (code == ELOOP || code == ENOTDIR) {
    return absl::FailedPreconditionError(
        fmt::format("{}: expected a directory, and no symbolic link", path.string()));
  }
  return FileError(path, "cannot open the directory", code);
}

// A descriptor of a folder in `above`, which is made if it is missing; -1: errno tells why it cannot be
// opened. Most are there already, and then one call of the kernel is enough.
absl::StatusOr<int> OpenOrMake(int above, const fs::path& path, mode_t mode) {
  const std::string name = path.filename();
  const int opened = openat(above, name.c_str(), kFolderFlags | O_NOFOLLOW);
  if (opened >= 0 || errno != ENOENT) return opened;
  if (mkdirat(above, name.c_str(), mode) != 0 && errno != EEXIST)
    return FileError(path, "cannot create directory", errno);
  return openat(above, name.c_str(), kFolderFlags | O_NOFOLLOW);
}

bool IsNotEmpty(int code) { return code == ENOTEMPTY || code == EEXIST; }

// Removes a file, a link or an empty folder; true if none is left. False: errno tells why.
bool RemoveEntry(const OpenFolder& folder, const std::string& name) {
  if (unlinkat(folder.descriptor(), name.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno != EISDIR && errno != EPERM) return false;  // EPERM: POSIX's word for EISDIR
  const int code = errno;
  if (unlinkat(folder.descriptor(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
  if (errno == ENOTDIR) errno = code;
  return false;
}

}  // namespace

absl::Status RemoveTree(const fs::path& path) {
  const absl::StatusOr<OpenFolder> above = OpenFolder::Open(FolderName(path.parent_path(), ""));
  return above.ok() ? above->Remove(path.filename()) : above.status();
}

absl::StatusOr<OpenFolder> OpenFolder::Wrap(const fs::path& path, int descriptor) {
  if (descriptor < 0) return FolderError(path, errno);
  OpenFile file(path, descriptor);
  struct stat about {};
  if (fstat(descriptor, &about) != 0) return FileError(path, "cannot stat the directory", errno);
  return OpenFolder(path, std::move(file), about.st_uid);
}

absl::StatusOr<OpenFolder> OpenFolder::Open(const FolderName& name) {
  const fs::path base = name.base.empty() ? "." : name.base;
  absl::StatusOr<OpenFolder> folder = Wrap(base, open(base.c_str(), kFolderFlags));
  for (const fs::path& part : name.below) {
    if (!folder.ok()) break;
    folder = folder->Inner(part.string());
  }
  return folder;
}

absl::StatusOr<OpenFolder> OpenFolder::Make(const FolderName& name, mode_t mode) {
  const fs::path base = name.base.empty() ? "." : name.base;
  absl::StatusOr<OpenFolder> folder = Wrap(base, open(base.c_str(), kFolderFlags));
  for (const fs::path& part : name.below) {
    if (!folder.ok()) break;
    const fs::path path = folder->path() / part;
    const absl::StatusOr<int> opened = OpenOrMake(folder->descriptor(), path, mode);
    if (!opened.ok()) return opened.status();
    folder = Wrap(path, *opened);
  }
  return folder;
}

bool OpenFolder::Believes(uid_t owner) const { return owner_ == geteuid() || owner == owner_; }

absl::StatusOr<OpenFolder> OpenFolder::Inner(const std::string& name) const {
  return Wrap(path_ / name, openat(descriptor(), name.c_str(), kFolderFlags | O_NOFOLLOW));
}

absl::StatusOr<bool> OpenFolder::MakeIfMissing(const std::string& name, mode_t mode) const {
  // Twice, because another host may remove or make it at the same time.
  int code = 0;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (mkdirat(descriptor(), name.c_str(), mode) == 0) return true;
    code = errno;
    if (code != EEXIST) break;
    struct stat about {};
    if (fstatat(descriptor(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(about.st_mode))
      return false;
    unlinkat(descriptor(), name.c_str(), 0);
  }
  return FileError(path_ / name, "cannot create directory", code);
}

absl::StatusOr<OpenFolder> OpenFolder::MakeFolder(const std::string& name, mode_t mode) const {
  const absl::StatusOr<bool> made = MakeIfMissing(name, mode);
  return made.ok() ? Inner(name) : made.status();
}

absl::StatusOr<OpenFile> OpenFolder::OpenRegular(const fs::path& path) const {
  const OpenFolder* above = this;
  absl::StatusOr<OpenFolder> step = absl::UnknownError("");
  for (const fs::path& part : path.parent_path()) {
    step = above->Inner(part.string());
    if (!step.ok()) return absl::NotFoundError(step.status().message());
    above = &*step;
  }
  const fs::path whole = path_ / path;
  // A pipe would block until it has a writer.
  const int descriptor =
      openat(above->descriptor(), path.filename().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0 && errno == ELOOP) return FileError(whole, "is a symbolic link", ENOENT);
  if (descriptor < 0) return FileError(whole, "cannot open", errno);
  OpenFile file(whole, descriptor);
  struct stat about {};
  if (fstat(descriptor, &about) != 0) return FileError(whole, "cannot stat it", errno);
  if (!S_ISREG(about.st_mode) || !Believes(about.st_uid))
    return FileError(whole, "is not a regular file of its directory's owner", ENOENT);
  return file;
}

absl::Status OpenFolder::ForEach(
    const std::function<absl::Status(const std::string&, const struct stat&)>& each) const {
  const int again = openat(descriptor(), ".", kFolderFlags);
  const std::unique_ptr<DIR, int (*)(DIR*)> names(again < 0 ? nullptr : fdopendir(again), closedir);
  if (names == nullptr) {
    const int code = errno;
    if (again >= 0) close(again);
    return FileError(path_, "cannot list", code);
  }
  for (errno = 0; const dirent* entry = readdir(names.get()); errno = 0) {
    const std::string name = entry->d_name;
    struct stat about {};
    if (name == "." || name == ".." ||
        fstatat(descriptor(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
      continue;
    }
    if (absl::Status status = each(name, about); !status.ok()) return status;
  }
  return errno == 0 ? absl::OkStatus() : FileError(path_, "cannot list", errno);
}

absl::Status OpenFolder::Remove(const std::string& name) const {
  if (RemoveEntry(*this, name)) return absl::OkStatus();
  if (!IsNotEmpty(errno)) return FileError(path_ / name, "cannot remove", errno);
  const absl::StatusOr<OpenFolder> inner = Inner(name);
  absl::Status status = inner.ok() ? inner->RemoveAll() : inner.status();
  if (status.ok() && !RemoveEntry(*this, name)) status = FileError(path_ / name, "cannot remove", errno);
  return status;
}

// What is nested is moved up first: a program may have nested more folders than there are descriptors.
absl::Status OpenFolder::RemoveAll() const {
  std::vector<std::string> folders;
  int64_t moved = 0;
  const auto move_up = [&](const OpenFolder& folder, const std::string& name) -> absl::Status {
    while (true) {
      folders.push_back(fmt::format("{}{}", kMovedUp, ++moved));
      if (renameat(folder.descriptor(), name.c_str(), descriptor(), folders.back().c_str()) == 0 ||
          errno == ENOENT)
        return absl::OkStatus();
      folders.pop_back();  // the name is taken
      if (!IsNotEmpty(errno) && errno != ENOTDIR)
        return FileError(folder.path() / name, "cannot remove", errno);
    }
  };
  const auto empty = [&](const OpenFolder& folder) {
    return folder.ForEach([&](const std::string& name, const struct stat&) -> absl::Status {
      if (RemoveEntry(folder, name)) return absl::OkStatus();
      if (!IsNotEmpty(errno)) return FileError(folder.path() / name, "cannot remove", errno);
      if (&folder != this) return move_up(folder, name);
      folders.push_back(name);
      return absl::OkStatus();
    });
  };
  absl::Status status = empty(*this);
  while (status.ok() && !folders.empty()) {
    const std::string name = std::move(folders.back());
    folders.pop_back();
    if (RemoveEntry(*this, name)) continue;
    const absl::StatusOr<OpenFolder> inner = Inner(name);
    status = inner.ok() ? empty(*inner) : inner.status();
    if (status.ok() && !RemoveEntry(*this, name)) status = FileError(path_ / name, "cannot remove", errno);
  }
  return status;
}

absl::Status OpenFolder::SetMode(mode_t mode) const {
  return fchmod(descriptor(), mode) == 0 ? absl::OkStatus()
                                         : FileError(path_, "cannot set its permissions", errno);
}

}  // namespace winnow
