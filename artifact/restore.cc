#include "artifact/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "artifact/digest.h"
#include "artifact/files.h"
#include "artifact/folder.h"
#include "artifact/manifest.h"
#include "artifact/transfers.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr int kMostSynced = 1000;  // more files are synced together, with all else on the file system

std::string DraftPrefix(const fs::path& folder) {
  return fmt::format(".{}.restore-", folder.filename().string());
}

// A temporary folder beside the target, locked while this object lives. One without a lock was left by a
// process that died.
class Draft {
 public:
  static absl::StatusOr<Draft> Make(const fs::path& folder) {
    std::string name = (folder.parent_path() / (DraftPrefix(folder) + "XXXXXX")).string();
    if (mkdtemp(name.data()) == nullptr) return FileError(name, "cannot create a directory", errno);
    absl::StatusOr<OpenFile> lock = OpenFile::Open(name, O_RDONLY | O_DIRECTORY);
    if (!lock.ok()) return lock.status();
    (void)flock(lock->descriptor(), LOCK_EX | LOCK_NB);  // some network file systems have no locks
    (void)fchmod(lock->descriptor(), 0755);              // some file systems have no permissions
    return Draft(name, *std::move(lock));
  }
  Draft(Draft&& other) noexcept : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  Draft& operator=(Draft&&) = delete;
  ~Draft() {
    if (!path_.empty()) (void)RemoveTree(path_);
  }

  const fs::path& path() const { return path_; }

 private:
  Draft(fs::path path, OpenFile lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  fs::path path_;
  OpenFile lock_;
};

void RemoveLeftDrafts(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with(DraftPrefix(folder))) continue;
    const absl::StatusOr<OpenFile> lock = OpenFile::Open(entry->path(), O_RDONLY | O_DIRECTORY);
    if (!lock.ok() || flock(lock->descriptor(), LOCK_EX | LOCK_NB) != 0) continue;
    (void)RemoveTree(entry->path());
  }
}

absl::Status WriteFile(const v1::ArtifactFile& file, const fs::path& path, const ReadBlob& read, bool syncs) {
  absl::StatusOr<OpenFile> out =
      OpenFile::Open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, file.executable() ? 0755 : 0644);
  if (!out.ok()) return out.status();
  for (const v1::BlobName& blob : file.blobs()) {
    const absl::StatusOr<std::string> bytes = read(blob);
    if (!bytes.ok()) return bytes.status();
    if (static_cast<int64_t>(bytes->size()) != blob.size() || DigestOf(*bytes) != blob.digest()) {
      return absl::DataLossError(fmt::format("{}: the bytes received for blob {} do not match its digest",
                                             file.path(), blob.digest()));
    }
    if (absl::Status status = out->Write(*bytes); !status.ok()) return status;
  }
  return syncs ? out->Sync() : absl::OkStatus();
}

// Writes everything to disk that was written to the file system of the folder.
absl::Status SyncFileSystem(const fs::path& folder) {
  const absl::StatusOr<OpenFile> open = OpenFile::Open(folder, O_RDONLY | O_DIRECTORY);
  if (!open.ok()) return open.status();
  return syncfs(open->descriptor()) == 0 ? absl::OkStatus() : FileError(folder, "cannot be synced", errno);
}

absl::Status WriteFiles(const v1::Manifest& manifest, const fs::path& root, const ReadBlob& read) {
  std::set<fs::path> folders = {root};
  for (const v1::ArtifactFile& file : manifest.files()) {
    const fs::path parent = (root / file.path()).parent_path();
    std::error_code error;
    fs::create_directories(parent, error);
    if (error) return FileError(parent, "cannot create the directory", error.value());
    for (fs::path above = parent; folders.insert(above).second;) above = above.parent_path();
  }
  const bool many = manifest.files_size() > kMostSynced;
  std::vector<int64_t> sizes;
  for (const v1::ArtifactFile& file : manifest.files()) sizes.push_back(file.size());
  absl::Status status = ForEachTransfer(sizes, [&](size_t i) {
    const v1::ArtifactFile& file = manifest.files(static_cast<int>(i));
    return WriteFile(file, root / file.path(), read, !many);
  });
  if (!status.ok()) return status;
  if (many) return SyncFileSystem(root);
  for (const fs::path& folder : folders) {
    if (status = SyncFolder(folder); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// If the process dies in between, no folder is left: the next start begins from nothing.
absl::Status ReplaceInSteps(const fs::path& draft, const fs::path& folder) {
  const fs::path aside = draft.string() + ".old";
  if (rename(folder.c_str(), aside.c_str()) != 0) return FileError(folder, "cannot be set aside", errno);
  if (rename(draft.c_str(), folder.c_str()) != 0) {
    const absl::Status status = FileError(folder, "cannot be replaced", errno);
    (void)rename(aside.c_str(), folder.c_str());
    return status;
  }
  (void)RemoveTree(aside);
  return absl::OkStatus();
}

// Afterwards the old content of `folder` is gone, or at the draft's path.
absl::Status PutInPlace(const fs::path& draft, const fs::path& folder) {
  if (rename(draft.c_str(), folder.c_str()) != 0) {  // nothing was there, or an empty folder
    if (errno != ENOTEMPTY && errno != EEXIST) return FileError(folder, "cannot be replaced", errno);
    if (renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
      // Some network file systems cannot swap.
      if (errno != EINVAL && errno != ENOSYS) return FileError(folder, "cannot be replaced", errno);
      if (absl::Status status = ReplaceInSteps(draft, folder); !status.ok()) return status;
    }
  }
  return SyncFolder(folder.parent_path());
}

}  // namespace

absl::Status RestoreFolder(const v1::Manifest& manifest, const fs::path& folder, const ReadBlob& read,
                           const ReplaceGuard& guard) {
  if (absl::Status status = CheckManifest(manifest); !status.ok()) return status;
  std::error_code error;
  fs::path target = fs::absolute(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();  // "models/"
  fs::create_directories(target.parent_path(), error);
  if (error) return FileError(target.parent_path(), "cannot create the directory", error.value());
  RemoveLeftDrafts(target);
  const absl::StatusOr<Draft> draft = Draft::Make(target);
  if (!draft.ok()) return draft.status();
  if (absl::Status status = WriteFiles(manifest, draft->path(), read); !status.ok()) return status;
  const auto put_in_place = [&] { return PutInPlace(draft->path(), target); };
  return guard ? guard(put_in_place) : put_in_place();
}

}  // namespace winnow
