#include "base/read_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "absl/status/status.h"

namespace winnow {

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return absl::InvalidArgumentError(strerror(errno));
  std::string text;
  char buffer[16384];
  ssize_t count = 0;
  while ((count = read(file, buffer, sizeof buffer)) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() <= kMostReadBytes) continue;
    errno = EFBIG;
    count = -1;
    break;
  }
  const int error = count < 0 ? errno : 0;
  close(file);
  if (error != 0) return absl::InvalidArgumentError(strerror(error));
  return text;
}

}  // namespace winnow
