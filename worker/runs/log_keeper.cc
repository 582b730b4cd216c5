#include "worker/runs/log_keeper.h"

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
constexpr size_t kShippedPart = 64 << 10;

int CreateFile(const std::filesystem::path& path) {
  return open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

}  // namespace

absl::StatusOr<LogKeeper> LogKeeper::Create(const std::filesystem::path& path, int64_t max_shipped, Ship ship,
                                            int64_t most_kept) {
  const int fd = CreateFile(path);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        fmt::format("cannot create log file {}: {}", path.string(), strerrordesc_np(errno)));
  }
  return LogKeeper("", fd, max_shipped, std::move(ship), most_kept);
}

LogKeeper LogKeeper::CreateLater(std::filesystem::path path, int64_t max_shipped, Ship ship,
                                 int64_t most_kept) {
  return LogKeeper(std::move(path), -1, max_shipped, std::move(ship), most_kept);
}

LogKeeper::LogKeeper(std::filesystem::path path, int fd, int64_t max_shipped, Ship ship, int64_t most_kept)
    : path_(std::move(path)),
      fd_(fd),
      max_shipped_(max_shipped),
      ship_(std::move(ship)),
      half_(most_kept / 2) {}

LogKeeper::LogKeeper(LogKeeper&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      max_shipped_(other.max_shipped_),
      ship_(std::move(other.ship_)),
      half_(other.half_),
      written_(other.written_),
      size_(other.size_),
      truncated_(other.truncated_),
      tail_(std::move(other.tail_)) {}

LogKeeper::~LogKeeper() {
  if (fd_ < 0) return;
  PutInOrder();
  close(fd_);
}

bool LogKeeper::WriteAt(int64_t offset, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    offset += written;
    bytes.remove_prefix(written);
  }
  return true;
}

void LogKeeper::Write(std::string_view bytes) {
  if (!bytes.empty() && !path_.empty()) fd_ = CreateFile(std::exchange(path_, {}));
  while (!bytes.empty()) {
    const auto [at, room] = Place(written_);
    const std::string_view part = bytes.substr(0, room);
    if (!WriteAt(at, part)) return;
    written_ += static_cast<int64_t>(part.size());
    bytes.remove_prefix(part.size());
  }
}

std::pair<int64_t, int64_t> LogKeeper::Place(int64_t offset) const {
  const int64_t at = offset < half_ ? offset : half_ + (offset - half_) % half_;
  return {at, at < half_ ? half_ - at : 2 * half_ - at};
}

std::string LogKeeper::ReadFrom(int64_t offset) const {
  std::string bytes;
  while (offset < written_) {
    const auto [at, there] = Place(offset);
    std::string part(std::min(there, written_ - offset), '\0');
    const ssize_t have = pread(fd_, part.data(), part.size(), at);
    if (have != static_cast<ssize_t>(part.size())) return "";
    bytes += part;
    offset += have;
  }
  return bytes;
}

// The ring becomes the end of the stream.
void LogKeeper::PutInOrder() const {
  if (written_ <= 2 * half_) return;
  std::string ring(half_, '\0');
  if (pread(fd_, ring.data(), ring.size(), half_) != half_) return;
  std::rotate(ring.begin(), ring.begin() + (written_ - half_) % half_, ring.end());
  WriteAt(half_, std::string(kLeftOut) + ring);
}

void LogKeeper::Add(std::string_view bytes) {
  Write(bytes);
  if (!truncated_ && ship_ != nullptr) {
    const size_t room = max_shipped_ - size_;
    // A stream of exactly that length counts as longer until End. Otherwise the next byte would have to be
    // told of by an empty piece, at the offset of End's first one.
    truncated_ = bytes.size() >= room;
    ship_(size_, bytes.substr(0, room), truncated_);
  }
  size_ += bytes.size();
  tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes));
  if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

void LogKeeper::End() {
  const Ship ship = std::exchange(ship_, nullptr);
  if (!truncated_ || ship == nullptr || written_ != size_) return;
  const int64_t begin = std::max(max_shipped_, size_ - std::min(kShippedEnd, half_));
  const bool leaves_out = begin > max_shipped_;
  std::string end = ReadFrom(begin);
  if (leaves_out) {
    // From the start of a line, unless the first one is long.
    const size_t line_end = std::string_view(end).substr(0, kShippedPart).find_first_of("\r\n");
    const size_t line = line_end == std::string::npos ? 0 : line_end + 1;
    const size_t left_out = begin - max_shipped_ + line;
    end = fmt::format("\n[Winnow: {} bytes of the output were left out here]\n", left_out) + end.substr(line);
  }
  for (size_t sent = 0; sent == 0 || sent < end.size(); sent += kShippedPart) {
    ship(max_shipped_ + static_cast<int64_t>(sent), std::string_view(end).substr(sent, kShippedPart),
         leaves_out);
  }
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
