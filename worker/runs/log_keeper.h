#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"

namespace winnow {

// Keeps one output stream of a process: its first and its last bytes, in a file and fewer of them for the
// server, and the last lines as a reason for a failure. Memory and disk are bounded, however long the stream
// is.
class LogKeeper {
 public:
  // A file has at most that much: half for the beginning, half for the end of a longer stream.
  static constexpr int64_t kMostKept = 8 << 20;
  // Between the two halves.
  static constexpr std::string_view kLeftOut = "\n[Winnow: the middle of the output was left out here]\n";

  // The server gets at most that much of the end of a long stream.
  static constexpr int64_t kShippedEnd = 255 << 10;

  // Called with bytes that continue at `offset` what was passed before; `truncated`, of the last call:
  // not all of the stream was passed.
  using Ship = std::function<void(int64_t offset, std::string_view data, bool truncated)>;

  // Creates the file anew. Passes the first `max_shipped` bytes to `ship`, and in End the last ones. Until
  // the destructor runs, the second half of the file is a ring.
  static absl::StatusOr<LogKeeper> Create(const std::filesystem::path& path, int64_t max_shipped, Ship ship,
                                          int64_t most_kept = kMostKept);
  // The same, but the file is created with the first byte: many programs write nothing to standard error.
  static LogKeeper CreateLater(std::filesystem::path path, int64_t max_shipped, Ship ship,
                               int64_t most_kept = kMostKept);
  LogKeeper(LogKeeper&& other) noexcept;
  LogKeeper& operator=(LogKeeper&&) = delete;
  ~LogKeeper();

  // A full disk truncates the file and has no other effect.
  void Add(std::string_view bytes);
  // The stream has ended.
  void End();

  // Returns the last lines: at most 10 lines and 2 KiB, without line end and without empty lines at the end.
  std::string LastLines() const;
  // Returns the last 8 KiB.
  std::string_view Tail() const { return tail_; }

 private:
  LogKeeper(std::filesystem::path path, int fd, int64_t max_shipped, Ship ship, int64_t most_kept);
  bool WriteAt(int64_t offset, std::string_view bytes) const;
  void Write(std::string_view bytes);
  // Where the byte of the stream is in the file, and how many follow it there.
  std::pair<int64_t, int64_t> Place(int64_t offset) const;
  // Reads the stream from there to its end; "" where the file does not have it.
  std::string ReadFrom(int64_t offset) const;
  void PutInOrder() const;

  std::filesystem::path path_;  // to be created; empty: it was
  int fd_;
  int64_t max_shipped_;
  Ship ship_;
  int64_t half_;         // of the file
  int64_t written_ = 0;  // to the file, also over earlier bytes
  int64_t size_ = 0;
  bool truncated_ = false;
  std::string tail_;
};

}  // namespace winnow
