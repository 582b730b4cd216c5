#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "artifact/manifest.h"

namespace winnow {

// Room for one blob, and a byte more, by which one that is too long is detected. It is memory of its own, of
// which only written pages are in use, and which the system has back at once: the allocator would keep blobs
// of each thread that has read one.
class BlobBuffer {
 public:
  static constexpr int64_t kMost = kBlobBytes + 1;

  BlobBuffer() = default;
  ~BlobBuffer();
  BlobBuffer(const BlobBuffer&) = delete;
  BlobBuffer& operator=(const BlobBuffer&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  int64_t size() const { return static_cast<int64_t>(size_); }
  // Adds what there is room for. False: there was none for all of it, or the system has no memory.
  bool Append(std::string_view bytes);
  void Clear() { size_ = 0; }

 private:
  char* data_ = nullptr;  // since the first byte
  size_t size_ = 0;
};

}  // namespace winnow
