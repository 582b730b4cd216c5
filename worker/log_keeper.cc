#include "worker/log_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

constexpr size_t kTailBytes = 8 << 10;
constexpr size_t kLastBytes = 2 << 10;
constexpr int kTailLines = 10;

}  // namespace

absl::StatusOr<LogKeeper> LogKeeper::Create(const std::filesystem::path& path, int64_t max_shipped,
                                            Ship ship) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        fmt::format("cannot create log file {}: {}", path.string(), strerrordesc_np(errno)));
  }
  return LogKeeper(fd, max_shipped, std::move(ship));
}

LogKeeper::LogKeeper(int fd, int64_t max_shipped, Ship ship)
    : fd_(fd), max_shipped_(max_shipped), ship_(std::move(ship)) {}

LogKeeper::LogKeeper(LogKeeper&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      max_shipped_(other.max_shipped_),
      ship_(std::move(other.ship_)),
      size_(other.size_),
      truncated_(other.truncated_),
      tail_(std::move(other.tail_)) {}

LogKeeper::~LogKeeper() {
  if (fd_ >= 0) close(fd_);
}

void LogKeeper::Add(std::string_view bytes) {
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t written = write(fd_, left.data(), left.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    left.remove_prefix(written);
  }
  if (!truncated_) {
    const size_t room = max_shipped_ - size_;
    truncated_ = bytes.size() > room;
    ship_(size_, bytes.substr(0, room), truncated_);
  }
  size_ += bytes.size();
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes));
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

std::string LogKeeper::LastLines() const {
  std::string_view text = Tail().substr(tail_.size() - std::min(tail_.size(), kLastBytes));
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  size_t begin = text.size();
  for (int lines = 0; lines < kTailLines && begin != std::string_view::npos; ++lines) {
    begin = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  }
  return std::string(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

}  // namespace winnow
