#include "tests/support/small_disk.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace winnow {

namespace fs = std::filesystem;

SmallDisk::SmallDisk(int64_t bytes) {
  std::string pattern = (fs::temp_directory_path() / "winnow-disk-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) abort();
  folder_ = pattern;
  const std::string size = "size=" + std::to_string(bytes);
  mounted_ = mount("tmpfs", folder_.c_str(), "tmpfs", 0, size.c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void SmallDisk::Fill() {
  const int descriptor = open(file("filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) abort();
  // Finally byte by byte: a write that does not fit is written in part, or not at all.
  for (size_t part = 65536; part > 0; part /= 4) {
    const std::vector<char> bytes(part);
    while (write(descriptor, bytes.data(), bytes.size()) > 0) {
    }
  }
  close(descriptor);
}

void SmallDisk::Clear() { fs::remove(file("filler")); }

}  // namespace winnow
