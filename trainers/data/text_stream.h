#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// Bytes of the longest line, or record of several lines, that is read. The windows of readers are at most as
// long, so that a record is refused with any number of threads alike.
inline constexpr size_t kLongestRecord = size_t{64} << 20;

// The error of a record that is longer; it begins in line `line`.
absl::Status RecordTooLong(const std::string& path, int64_t line);

// The text of one regular file, front to back, through a window. A gzip file (recognised by its first bytes,
// whatever its name) is unpacked, including several members.
class TextStream {
 public:
  // The window has `window_bytes` of text, or all of it if that is shorter. Reads on up to `threads` threads.
  // Errors as ReadTextFile.
  static absl::StatusOr<TextStream> Open(const std::string& path, size_t window_bytes, int threads);
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  // The content of the window, without a byte order mark; valid until the next call of the functions below.
  const SourceFile& window() const;
  // Whether the window reaches the end of the text.
  bool at_end() const;

  // Drops the first `bytes` of the window and fills it again. DataLoss for gzip data that is truncated or
  // damaged, InvalidArgument for a byte 0, both with positions from the file's start.
  absl::Status Advance(size_t bytes);
  // Doubles the length of the window.
  absl::Status Grow();

 private:
  class Source;
  explicit TextStream(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

}  // namespace winnow
