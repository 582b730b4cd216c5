#include "trainers/common/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <string_view>

namespace winnow {
namespace {

constexpr const char* kControlVariable = "WINNOW_CONTROL_FD";
constexpr std::string_view kContinue = "continue ";

std::optional<int64_t> WholeNumber(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

}  // namespace

Control::Control() {
  const char* const text = getenv(kControlVariable);
  const std::optional<int64_t> number = text == nullptr ? std::nullopt : WholeNumber(text);
  struct stat about {};
  if (!number || *number > 1 << 20 || fstat(static_cast<int>(*number), &about) != 0 ||
      !S_ISSOCK(about.st_mode))
    return;
  fd_ = static_cast<int>(*number);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
}

Control::~Control() {
  if (fd_ >= 0) close(fd_);
}

// A worker that does not hear it counts the slot as taken until the part has ended.
void Control::Saves(int64_t level) const {
  const std::string line = "saving " + std::to_string(level) + "\n";
  static_cast<void>(send(fd_, line.data(), line.size(), MSG_NOSIGNAL));
}

std::optional<int64_t> Control::Wait(int64_t level) {
  const std::string line = "waiting " + std::to_string(level) + "\n";
  if (send(fd_, line.data(), line.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(line.size()))
    return std::nullopt;
  for (size_t end; (end = said_.find('\n')) == std::string::npos;) {
    // poll, unlike read, ends when a signal was handled
    pollfd wait{fd_, POLLIN, 0};
    if (poll(&wait, 1, -1) <= 0) return std::nullopt;
    std::array<char, 1024> buffer;
    const ssize_t got = read(fd_, buffer.data(), buffer.size());
    if (got <= 0) return std::nullopt;
    said_.append(buffer.data(), got);
  }
  const std::string order = said_.substr(0, said_.find('\n'));
  said_.erase(0, order.size() + 1);
  if (!order.starts_with(kContinue)) return std::nullopt;
  const std::string_view rest = std::string_view(order).substr(kContinue.size());
  return WholeNumber(rest.substr(0, rest.find(' ')));
}

}  // namespace winnow
