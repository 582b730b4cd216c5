#include "cli/output/terminal.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/environment.h"
#include "cli/output/text.h"
#include "flags/wrap.h"

namespace winnow::cli {

Terminal::Terminal(int fd, bool no_color) : fd_(fd) {
  is_terminal_ = isatty(fd) != 0;
  interactive_ = is_terminal_ && EnvironmentVariable("TERM") != "dumb";
  color_ = interactive_ && !no_color && EnvironmentVariable("NO_COLOR").empty();
}

int Terminal::width() const {
  winsize size = {};
  return interactive_ && ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

int Terminal::height() const {
  winsize size = {};
  return interactive_ && ioctl(fd_, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 40;
}

std::string Terminal::Paint(Style style, std::string_view text) const {
  if (!color_ || text.empty()) return std::string(text);
  switch (style) {
    case Style::kPlain:
      return std::string(text);
    case Style::kBold:
      return fmt::format("\x1b[1m{}\x1b[0m", text);
    case Style::kDim:
      return fmt::format("\x1b[2m{}\x1b[0m", text);
    case Style::kGood:
      return fmt::format("\x1b[32m{}\x1b[0m", text);
    case Style::kBad:
      return fmt::format("\x1b[31m{}\x1b[0m", text);
    case Style::kBusy:
      return fmt::format("\x1b[36m{}\x1b[0m", text);
  }
  return std::string(text);
}

std::string Terminal::Labelled(std::string_view label, size_t columns, std::string_view value) const {
  const std::string title = fmt::format("{:<{}}", label, columns);
  const size_t indent = columns + 2;
  const size_t left = std::max<size_t>(static_cast<size_t>(width()), indent + 20) - indent;
  std::string lines = interactive_ ? Wrap(value, left, DisplayWidth) : std::string(value);
  for (size_t at = lines.find('\n'); at != std::string::npos; at = lines.find('\n', at + 1)) {
    lines.insert(at + 1, indent, ' ');
  }
  return fmt::format("  {}{}\n", Paint(Style::kDim, title), lines);
}

std::string Terminal::Wrapped(std::string_view text) const {
  return interactive_ ? Wrap(text, static_cast<size_t>(width()), DisplayWidth) : std::string(text);
}

void Terminal::Print(std::string_view text) {
  while (!text.empty() && write_error_ == 0) {
    const ssize_t written = write(fd_, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {  // whoever shares it, such as ssh, has made it non-blocking
      pollfd room = {fd_, POLLOUT, 0};
      poll(&room, 1, -1);
    } else if (errno != EINTR) {
      write_error_ = errno;
    }
  }
}

void Terminal::Redraw(std::string_view frame) {
  const int most = std::max(1, height() - 1);
  const auto columns = static_cast<size_t>(width());
  std::string text = frame_lines_ > 0 ? fmt::format("\x1b[{}A\r", frame_lines_) : "\r";
  int lines = 0;
  while (!frame.empty() && lines < most) {
    const size_t end = frame.find('\n');
    text += Fit(frame.substr(0, end), columns) + "\x1b[K\n";
    ++lines;
    frame.remove_prefix(end == std::string_view::npos ? frame.size() : end + 1);
  }
  Print(text + "\x1b[J");
  frame_lines_ = lines;
}

}  // namespace winnow::cli
