#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace winnow {

// The bytes of one regular file, front to back. A gzip file (recognised by its first bytes, whatever its
// name) is unpacked, including several members.
class ByteStream {
 public:
  // Reads on up to `threads` threads. Errors name the path: NotFound, PermissionDenied, Unavailable, or
  // InvalidArgument for a folder or a device.
  static absl::StatusOr<ByteStream> Open(const std::string& path, int threads);
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;
  ~ByteStream();

  // Reads the next `size` bytes; fewer only at the end. Unavailable for a read error, DataLoss for gzip data
  // that is truncated or damaged, ResourceExhausted.
  absl::StatusOr<size_t> Read(char* to, size_t size);
  // Returns to the first byte.
  void Rewind();

  // Size of the file on disk, when it was opened.
  size_t file_bytes() const;
  bool packed() const;

 private:
  class Source;
  explicit ByteStream(std::unique_ptr<Source> source);
  std::unique_ptr<Source> source_;
};

}  // namespace winnow
