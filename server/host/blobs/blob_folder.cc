#include "server/host/blobs/blob_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "artifact/digest.h"
#include "artifact/files.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr char kDraftEnding[] = ".part";
constexpr int64_t kReadAtOnce = 256 << 10;
constexpr int64_t kReservedPart = 10;  // reserve at most this fraction of the disk

}  // namespace

fs::path BlobFolder::PathOf(const std::string& digest) const {
  return folder_ / "blobs" / digest.substr(0, 2) / digest;
}

absl::Status BlobFolder::List(const std::function<void(const std::string& digest, int64_t size)>& found) {
  const fs::path blobs = folder_ / "blobs";
  std::error_code error;
  fs::create_directories(blobs, error);
  for (fs::recursive_directory_iterator entry(blobs, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->is_regular_file(error) || error) continue;
    const std::string name = entry->path().filename().string();
    if (IsDigest(name)) {
      found(name, static_cast<int64_t>(entry->file_size(error)));
    } else if (name.ends_with(kDraftEnding)) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
    }
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("{}: {}", blobs.string(), error.message()));
}

absl::Status BlobFolder::HasRoom(int64_t bytes) {
  std::error_code error;
  const fs::space_info disk = fs::space(folder_, error);
  if (error) return absl::OkStatus();
  const int64_t reserve = std::min<int64_t>(reserve_bytes_, disk.capacity / kReservedPart);
  const auto available = static_cast<int64_t>(disk.available);
  if (available - bytes >= reserve) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("{} has {:.1f} GiB left, which the server keeps for its database", folder_.string(),
                  static_cast<double>(available) / (1 << 30)));
}

absl::Status BlobFolder::Write(const std::string& digest, std::string_view bytes) {
  const fs::path path = PathOf(digest);
  fs::path draft = path;
  draft += fmt::format(".{}{}", ++drafts_, kDraftEnding);
  std::error_code error;
  const bool fresh = fs::create_directories(path.parent_path(), error);
  if (error) return FileError(path.parent_path(), "cannot create the directory", error.value());
  absl::StatusOr<OpenFile> file = OpenFile::Open(draft, O_WRONLY | O_CREAT | O_EXCL, 0644);
  if (!file.ok()) return file.status();
  absl::Status status = file->Write(bytes);
  if (status.ok()) status = file->Sync();
  if (status.ok() && rename(draft.c_str(), path.c_str()) != 0)
    status = FileError(path, "cannot rename to this name", errno);
  if (!status.ok()) {
    fs::remove(draft, error);
    return status;
  }
  status = SyncFolder(path.parent_path());
  if (status.ok() && fresh) status = SyncFolder(path.parent_path().parent_path());
  return status;
}

absl::Status BlobFolder::Read(const std::string& digest, int64_t most, BlobBuffer& into) {
  into.Clear();
  const absl::StatusOr<OpenFile> file = OpenFile::Open(PathOf(digest), O_RDONLY);
  if (!file.ok()) return file.status();
  while (into.size() < most) {
    const absl::StatusOr<std::string> bytes =
        file->ReadAt(into.size(), std::min(kReadAtOnce, most - into.size()));
    if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
    if (bytes->empty()) break;
    if (!into.Append(*bytes)) return absl::ResourceExhaustedError("there is no memory for a blob");
  }
  return absl::OkStatus();
}

absl::Status BlobFolder::Remove(const std::string& digest) {
  unlink(PathOf(digest).c_str());
  return absl::OkStatus();
}

}  // namespace winnow
