#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "artifact/files.h"

namespace winnow {

// Whether the path still leads to the file that is open. A lock's file may be removed by who holds it, so
// that a lock that is taken later, of the same open file, counts for nobody.
inline bool IsInPlace(const OpenFile& lock, const std::filesystem::path& path) {
  struct stat open {
  }, there{};
  return fstat(lock.descriptor(), &open) == 0 && stat(path.c_str(), &there) == 0 &&
         open.st_dev == there.st_dev && open.st_ino == there.st_ino;
}

}  // namespace winnow
