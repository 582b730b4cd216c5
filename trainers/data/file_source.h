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
  std::shared_ptr<const char> memory;  // what holds them, and kTextPadding zeros behind
};

// Where a cell stands; for errors.
struct CellPlace {
  const std::string* path = nullptr;
  int64_t line = 0;
};

// The bytes of one regular file, read on up to `threads` threads; a gzip file (known by its first bytes,
// whatever its name) is unpacked, also when it has several members. Errors name the path: NotFound,
// PermissionDenied, DataLoss for gzip data that is cut short or damaged, InvalidArgument for a folder, a
// device, or content that is not text.
absl::StatusOr<SourceFile> ReadTextFile(const std::string& path, int threads = 1);

// As ReadTextFile, but of a long file only the whole lines of its first mebibytes, if there are any.
absl::StatusOr<SourceFile> ReadTextHead(const std::string& path);

// A copy of `text` as the content of a file of that name.
SourceFile TextAsFile(const std::string& path, std::string_view text);

// What is said of a file that errno `error` keeps from being read: NotFound, PermissionDenied or Unavailable.
absl::Status FileReadError(const std::string& path, int error);

// The paths that `path` stands for: a file itself; of a folder its regular files sorted by name, those whose
// name begins with '.' skipped. At least one is returned. Folders inside the folder are not entered.
absl::StatusOr<std::vector<std::string>> ListFiles(const std::string& path);

}  // namespace winnow
