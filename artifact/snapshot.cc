#include "artifact/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "artifact/files.h"
#include "artifact/manifest.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

bool IsUnfinished(const fs::path& path) {
  return std::any_of(path.begin(), path.end(),
                     [](const fs::path& part) { return IsUnfinishedName(part.string()); });
}

// Lists the finished files.
absl::StatusOr<Listing> ListFinished(const FolderName& folder) {
  absl::StatusOr<Listing> listing = ListFolder(folder);
  if (listing.ok()) std::erase_if(listing->files, [](const auto& file) { return IsUnfinished(file.first); });
  return listing;
}

// Copies a file where hard links are not possible.
absl::Status Copy(const OpenFile& from, const OpenFolder& folder, const std::string& name, mode_t mode) {
  const int descriptor =
      openat(folder.descriptor(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (descriptor < 0) return FileError(folder.path() / name, "cannot create the file", errno);
  OpenFile to(folder.path() / name, descriptor);
  for (int64_t at = 0;; at += kBlobBytes) {
    const absl::StatusOr<std::string> bytes = from.ReadAt(at, kBlobBytes);
    if (!bytes.ok()) return bytes.status();
    if (absl::Status status = to.Write(*bytes); !status.ok()) return status;
    if (static_cast<int64_t>(bytes->size()) < kBlobBytes) return absl::OkStatus();
  }
}

// NOT_FOUND: the file is no longer the listed one.
absl::Status Keep(const OpenFolder& from, const OpenFolder& to, const fs::path& path,
                  const Listing::Entry& entry) {
  const absl::StatusOr<OpenFile> file = from.OpenRegular(path);
  if (!file.ok()) return file.status();
  struct stat about {};
  if (fstat(file->descriptor(), &about) != 0 || about.st_ino != entry.inode)
    return FileError(from.path() / path, "gone", ENOENT);
  const absl::StatusOr<OpenFolder> above =
      OpenFolder::Make({fmt::format("/proc/self/fd/{}", to.descriptor()), path.parent_path()});
  if (!above.ok()) return above.status();
  const std::string name = path.filename();
  // Links the open file by its descriptor's path, so that it cannot be another file.
  const std::string open_name = fmt::format("/proc/self/fd/{}", file->descriptor());
  if (linkat(AT_FDCWD, open_name.c_str(), above->descriptor(), name.c_str(), AT_SYMLINK_FOLLOW) == 0)
    return absl::OkStatus();
  return Copy(*file, *above, name, about.st_mode & 0777);
}

}  // namespace

bool IsUnfinishedName(const std::string& name) { return name.ends_with(".part") || name.ends_with(".tmp"); }

absl::Status SnapshotFolder(const FolderName& folder, const FolderName& copy) {
  const absl::StatusOr<OpenFolder> beside = OpenFolder::Open(copy.parent());
  if (!beside.ok()) return beside.status();
  const std::string copy_name = copy.below.filename();
  if (absl::Status status = beside->Remove(copy_name); !status.ok()) return status;
  const absl::StatusOr<OpenFolder> to = beside->MakeFolder(copy_name, 0700);
  if (!to.ok()) return to.status();
  const absl::StatusOr<OpenFolder> from = OpenFolder::Open(folder);
  if (!from.ok()) return from.status();
  const absl::StatusOr<Listing> before = ListFinished(folder);
  if (!before.ok()) return before.status();
  const absl::Status changed = absl::AbortedError(folder.path().string() + " changed while being read");
  for (const auto& [path, entry] : before->files) {
    const absl::Status status = Keep(*from, *to, path, entry);
    if (absl::IsNotFound(status)) return changed;
    if (!status.ok()) return status;
  }
  const absl::StatusOr<Listing> after = ListFinished(folder);
  return after.ok() && *after == *before ? absl::OkStatus() : changed;
}

}  // namespace winnow
