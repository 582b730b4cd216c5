#include "trainers/data/cache/mapped_file.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "fmt/format.h"

namespace winnow {
namespace {

absl::StatusOr<std::span<std::byte>> Map(uint64_t size, int protection, int flags, int file,
                                         uint64_t offset) {
  if (size == 0) return std::span<std::byte>();
  void* const at = ::mmap(nullptr, size, protection, flags, file, static_cast<off_t>(offset));
  if (at == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        fmt::format("{} bytes cannot be mapped into memory: {}", size, std::strerror(errno)));
  }
  return std::span(static_cast<std::byte*>(at), size);
}

}  // namespace

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

absl::StatusOr<Mapping> Mapping::OfFile(const FileHandle& file, uint64_t offset, uint64_t size,
                                        bool writable) {
  const absl::StatusOr<std::span<std::byte>> bytes =
      Map(size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file.get(), offset);
  if (!bytes.ok()) return bytes.status();
  Mapping mapping;
  mapping.bytes_ = *bytes;
  return mapping;
}

absl::StatusOr<Mapping> Mapping::OfMemory(uint64_t size) {
  const absl::StatusOr<std::span<std::byte>> bytes =
      Map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (!bytes.ok()) return bytes.status();
  Mapping mapping;
  mapping.bytes_ = *bytes;
  return mapping;
}

}  // namespace winnow
