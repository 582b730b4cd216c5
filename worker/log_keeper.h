#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// Keeps one output stream of a process: all of it in a file, the first bytes for the server, the last lines
// as a reason.
class LogKeeper {
 public:
  // Called with bytes that continue the stream at `offset`; `truncated` says that no more will come though
  // there was more.
  using Ship = std::function<void(int64_t offset, std::string_view data, bool truncated)>;

  // Creates the file anew. At most `max_shipped` bytes are given to `ship`.
  static absl::StatusOr<LogKeeper> Create(const std::filesystem::path& path, int64_t max_shipped, Ship ship);
  LogKeeper(LogKeeper&& other) noexcept;
  LogKeeper& operator=(LogKeeper&&) = delete;
  ~LogKeeper();

  // A full disk costs the file its end and nothing else.
  void Add(std::string_view bytes);

  // The last lines that were added: at most 10 lines and 2 KiB, without line end; empty lines at the end are
  // left out.
  std::string LastLines() const;
  // The last 8 KiB that were added.
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
