#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/cache/file_handle.h"

namespace winnow {

// Memory from mmap, unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  // Maps `size` bytes of `file` from `offset`, shared; writable or not. REQUIRES: offset is a multiple of the
  // page size and the file is long enough. ResourceExhausted if there is no room in memory.
  static absl::StatusOr<Mapping> OfFile(const FileHandle& file, uint64_t offset, uint64_t size,
                                        bool writable);
  // Zeros, private to this process.
  static absl::StatusOr<Mapping> OfMemory(uint64_t size);

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// Named arrays of bytes, each 64-byte aligned, valid as long as this object: a mapped file of the cache or,
// if it could not be kept, memory of this process. Reading is thread-safe.
class MappedFile {
 public:
  // Empty if there is none of that name.
  std::span<const std::byte> Section(std::string_view name) const {
    const auto found = sections_.find(name);
    return found == sections_.end() ? std::span<const std::byte>() : found->second;
  }
  // Section as an array. REQUIRES: T is trivially copyable and is the type that was written.
  template <typename T>
  std::span<const T> Array(std::string_view name) const {
    const std::span<const std::byte> bytes = Section(name);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // Whether other processes see it.
  bool is_shared() const { return file_.is_open(); }

  // For the cache: the memory of the sections, and each section.
  MappedFile(FileHandle file, std::vector<Mapping> mappings,
             std::map<std::string, std::span<const std::byte>, std::less<>> sections)
      : file_(std::move(file)), mappings_(std::move(mappings)), sections_(std::move(sections)) {}

 private:
  FileHandle file_;  // holds the lock that marks the file as in use
  std::vector<Mapping> mappings_;
  std::map<std::string, std::span<const std::byte>, std::less<>> sections_;
};

}  // namespace winnow
