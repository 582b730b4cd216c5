#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace winnow {

// Splits a stream of bytes into lines and keeps at most `limit` bytes: of a longer line, it returns the first
// `limit` bytes and skips the rest.
class LineSplitter {
 public:
  explicit LineSplitter(size_t limit) : limit_(limit) {}

  // Calls `line(std::string_view)` for every line that `bytes` completes, without its end: "\n", "\r\n", or a
  // single "\r", as in progress bars.
  template <typename Line>
  void Add(std::string_view bytes, const Line& line) {
    while (!bytes.empty()) {
      if (std::exchange(after_return_, false) && bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
      const size_t end = bytes.find_first_of("\r\n");
      Keep(bytes.substr(0, end));
      if (end == std::string_view::npos) return;
      after_return_ = bytes[end] == '\r';
      bytes.remove_prefix(end + 1);
      Finish(line);
    }
  }

  // The stream has ended: a last line without line end counts too.
  template <typename Line>
  void End(const Line& line) {
    if (!kept_.empty()) Finish(line);
  }

 private:
  void Keep(std::string_view part) { kept_ += part.substr(0, limit_ - kept_.size()); }

  template <typename Line>
  void Finish(const Line& line) {
    line(std::string_view(kept_));
    kept_.clear();
  }

  size_t limit_;
  std::string kept_;
  bool after_return_ = false;  // a "\n" that comes now belongs to the previous line end
};

}  // namespace winnow
