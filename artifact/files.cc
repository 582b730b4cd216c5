#include "artifact/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <utility>

namespace winnow {

absl::Status FileError(const std::filesystem::path& path, std::string_view what, int code) {
  const std::string text = fmt::format("{}: {}: {}", path.string(), what, strerror(code));
  if (code == ENOSPC || code == EDQUOT) return absl::ResourceExhaustedError(text);
  if (code == ENOENT) return absl::NotFoundError(text);
  return absl::UnavailableError(text);
}

absl::StatusOr<OpenFile> OpenFile::Open(const std::filesystem::path& path, int flags, int mode) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC, mode);
  if (descriptor < 0) return FileError(path, "cannot open", errno);
  return OpenFile(path, descriptor);
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

absl::Status OpenFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError(path_, "cannot write", errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> OpenFile::ReadAt(int64_t offset, int64_t most) const {
  std::string bytes(static_cast<size_t>(most), '\0');
  size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count =
        pread(descriptor_, bytes.data() + have, bytes.size() - have, offset + static_cast<int64_t>(have));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError(path_, "cannot read", errno);
    if (count == 0) break;
    have += static_cast<size_t>(count);
  }
  bytes.resize(have);
  return bytes;
}

absl::Status OpenFile::Sync() {
  return fsync(descriptor_) == 0 ? absl::OkStatus() : FileError(path_, "cannot sync", errno);
}

absl::Status SyncFolder(const std::filesystem::path& folder) {
  absl::StatusOr<OpenFile> file = OpenFile::Open(folder, O_RDONLY | O_DIRECTORY);
  return file.ok() ? file->Sync() : file.status();
}

}  // namespace winnow
