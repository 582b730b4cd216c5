#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

struct SourceFile {
  std::string path;
  std::string_view bytes;              // uncompressed, without a byte order mark; no byte is 0
  std::shared_ptr<const char> memory;  // their memory, and kTextPadding zeros after them
};

// The place of a cell, for errors.
struct CellPlace {
  const std::string* path = nullptr;
  int64_t line = 0;
};

// Reads one regular file on up to `threads` threads. A gzip file (recognised by its first bytes, whatever its
// name) is unpacked, including several members. Errors name the path: NotFound, PermissionDenied, DataLoss
// for gzip data that is truncated or damaged, InvalidArgument for a folder, a device, or content that is not
// text.
absl::StatusOr<SourceFile> ReadTextFile(const std::string& path, int threads = 1);

// ReadTextFile, but of a long file only the complete lines of its first mebibytes, at least one.
// InvalidArgument if that is longer than kLongestRecord.
absl::StatusOr<SourceFile> ReadTextHead(const std::string& path);

// Returns a copy of `text` as the content of a file of that name.
SourceFile TextAsFile(const std::string& path, std::string_view text);

// Returns the error of reading a file with errno `error`: NotFound, PermissionDenied or Unavailable.
absl::Status FileReadError(const std::string& path, int error);

// Returns the files of `path`, at least one: a file itself; of a folder its regular files sorted by name,
// without names that begin with '.' and without subfolders.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& path);

}  // namespace winnow
