#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// Returns an error with the file and the system's message: RESOURCE_EXHAUSTED for a full disk, NOT_FOUND for
// a missing file, otherwise UNAVAILABLE.
absl::Status FileError(const std::filesystem::path& path, std::string_view what, int code);

// An open descriptor, closed with the object.
class OpenFile {
 public:
  static absl::StatusOr<OpenFile> Open(const std::filesystem::path& path, int flags, int mode = 0);
  // Takes ownership of `descriptor`; errors name `path`.
  OpenFile(std::filesystem::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  int Release() { return std::exchange(descriptor_, -1); }
  absl::Status Write(std::string_view bytes);
  // Returns fewer than `most` bytes only at the end of the file.
  absl::StatusOr<std::string> ReadAt(int64_t offset, int64_t most) const;
  // Flushes the content to disk; for a folder, the names in it.
  absl::Status Sync();

 private:
  std::filesystem::path path_;
  int descriptor_;
};

absl::Status SyncFolder(const std::filesystem::path& folder);

}  // namespace winnow
