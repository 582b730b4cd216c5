#include "artifact/snapshot.h"

#include <errno.h>
#include <fmt/format.h>
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

// The files that are whole.
absl::StatusOr<Listing> ListFinished(const fs::path& folder) {
  absl::StatusOr<Listing> listing = ListFolder(folder);
  if (listing.ok()) std::erase_if(listing->files, [](const auto& file) { return IsUnfinished(file.first); });
  return listing;
}

absl::Status Keep(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (error) return FileError(to.parent_path(), "cannot make the folder", error.value());
  if (link(from.c_str(), to.c_str()) == 0) return absl::OkStatus();
  if (errno == ENOENT) return FileError(from, "gone", errno);
  fs::copy_file(from, to, error);
  return error ? FileError(from, "cannot copy", error.value()) : absl::OkStatus();
}

}  // namespace

bool IsUnfinishedName(const std::string& name) { return name.ends_with(".part") || name.ends_with(".tmp"); }

absl::Status SnapshotFolder(const fs::path& folder, const fs::path& copy) {
  std::error_code error;
  fs::remove_all(copy, error);
  fs::create_directories(copy, error);
  if (error) return FileError(copy, "cannot make the folder", error.value());
  const absl::StatusOr<Listing> before = ListFinished(folder);
  if (!before.ok()) return before.status();
  const absl::Status changed = absl::AbortedError(folder.string() + " changed while it was read");
  for (const auto& [path, entry] : before->files) {
    const absl::Status status = Keep(folder / path, copy / path);
    if (absl::IsNotFound(status)) return changed;
    if (!status.ok()) return status;
  }
  const absl::StatusOr<Listing> after = ListFinished(folder);
  return after.ok() && *after == *before ? absl::OkStatus() : changed;
}

}  // namespace winnow
