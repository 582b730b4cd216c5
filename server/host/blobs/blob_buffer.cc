#include "server/host/blobs/blob_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace winnow {

BlobBuffer::~BlobBuffer() {
  if (data_ != nullptr) munmap(data_, kMost);
}

bool BlobBuffer::Append(std::string_view bytes) {
  if (data_ == nullptr) {
    void* const memory = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    data_ = static_cast<char*>(memory);
  }
  const size_t taken = std::min(bytes.size(), static_cast<size_t>(kMost) - size_);
  if (taken > 0) std::memcpy(data_ + size_, bytes.data(), taken);
  size_ += taken;
  return taken == bytes.size();
}

}  // namespace winnow
