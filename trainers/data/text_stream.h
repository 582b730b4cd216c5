#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainers/data/file_source.h"

namespace winnow {

// The text of one regular file, front to back, through a window. A gzip file (known by its first bytes,
// whatever its name) is unpacked, also when it has several members.
class TextStream {
 public:
  // The window holds `window_bytes` of text, or all of it if it is shorter. Reads on up to `threads` threads.
  // Errors as of ReadTextFile.
  static absl::StatusOr<TextStream> Open(const std::string& path, size_t window_bytes, int threads);
  TextStream(TextStream&&) noexcept;
  TextStream& operator=(TextStream&&) noexcept;
  ~TextStream();

  // What is in the window; valid until the next call of the functions below. A byte order mark is not in it.
  const SourceFile& window() const;
  // Whether the window reaches to the end of the text.
  bool at_end() const;

  // Drops the first `bytes` of the window and fills it again. DataLoss for gzip data that is cut short or
  // damaged, InvalidArgument for a byte 0, both counted from the file's begin.
  absl::Status Advance(size_t bytes);
  // Makes the window twice as long.
  absl::Status Grow();

 private:
  class Source;
  explicit TextStream(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

}  // namespace winnow
