#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// Keeps one output stream of a process: all of it in a file, the first bytes for the server, the last lines
// as a reason for a failure.
class LogKeeper {
 public:
  // Called with bytes that continue the stream at `offset`; `truncated`: the rest of the stream is not sent.
  using Ship = std::function<void(int64_t offset, std::string_view data, bool truncated)>;

  // Creates the file anew. Passes at most `max_shipped` bytes to `ship`.
  static absl::StatusOr<LogKeeper> Create(const std::filesystem::path& path, int64_t max_shipped, Ship ship);
  LogKeeper(LogKeeper&& other) noexcept;
  LogKeeper& operator=(LogKeeper&&) = delete;
  ~LogKeeper();

  // A full disk truncates the file and has no other effect.
  void Add(std::string_view bytes);

  // Returns the last lines: at most 10 lines and 2 KiB, without line end and without empty lines at the end.
  std::string LastLines() const;
  // Returns the last 8 KiB.
  std::string_view Tail() const { return tail_; }

 private:
  LogKeeper(int fd, int64_t max_shipped, Ship ship);

  int fd_;
  int64_t max_shipped_;
  Ship ship_;
  int64_t size_ = 0;
  bool truncated_ = false;
  std::string tail_;
};

}  // namespace winnow
