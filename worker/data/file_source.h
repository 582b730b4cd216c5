#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

struct SourceFile {
  std::string path;
  std::string bytes;  // uncompressed, without a byte order mark; no byte is 0
};

// Where a cell stands; for errors.
struct CellPlace {
  const SourceFile* file = nullptr;
  int64_t line = 0;
};

// The bytes of one regular file; a gzip file (known by its first bytes, whatever its name) is unpacked, also
// when it has several members. Errors name the path: NotFound, PermissionDenied, DataLoss for gzip data that
// is cut short or damaged, InvalidArgument for a folder, a device, or content that is not text.
absl::StatusOr<SourceFile> ReadTextFile(const std::string& path);

// A file as itself; a folder as its regular files sorted by name, those whose name begins with '.' skipped.
// At least one file is returned. Folders inside the folder are not entered.
absl::StatusOr<std::vector<SourceFile>> ReadFileOrFolder(const std::string& path);

}  // namespace winnow
