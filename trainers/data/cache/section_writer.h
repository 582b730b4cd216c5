#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/data/cache/mapped_file.h"

namespace winnow {

// Makes the sections of one MappedFile. They are in a file of the cache from the start, so that nothing is
// held twice; if the disk or the cache's limit has no room, in this process's memory.
class SectionWriter {
 public:
  // `folder` null: in memory. REQUIRES: *folder outlives the writer.
  explicit SectionWriter(const CacheFolder* folder);
  ~SectionWriter();
  SectionWriter(const SectionWriter&) = delete;
  SectionWriter& operator=(const SectionWriter&) = delete;

  // Adds a section of `size` zeros, to be filled in place until the builder returns. ResourceExhausted if
  // memory has no room either. REQUIRES: no section of that name yet.
  absl::StatusOr<std::span<std::byte>> Add(std::string_view name, uint64_t size);

  // Add for an array.
  template <typename T>
  absl::StatusOr<std::span<T>> AddArray(std::string_view name, uint64_t count) {
    const absl::StatusOr<std::span<std::byte>> bytes = Add(name, count * sizeof(T));
    if (!bytes.ok()) return bytes.status();
    return std::span<T>(reinterpret_cast<T*>(bytes->data()), count);
  }
  // Add with content.
  absl::Status AddCopy(std::string_view name, std::span<const std::byte> content);

  // For the cache: ends the writing. The file gets the name `path` and contains `key`; if that fails,
  // *why_not says why.
  absl::StatusOr<MappedFile> Finish(const std::string& path, std::string_view key, std::string* why_not) &&;

 private:
  struct Section {
    std::string name;
    uint64_t offset = 0;
    std::span<std::byte> bytes;
  };
  absl::StatusOr<Mapping> AddToFile(uint64_t size, uint64_t* offset);
  absl::Status Publish(const std::string& path, std::string_view key);
  void GiveUpFile(const absl::Status& why);

  const CacheFolder* folder_;
  std::optional<CacheFolder::Temporary> file_;  // none: sections are in memory from now on
  uint64_t end_ = 0;
  std::vector<Section> sections_;
  std::vector<Mapping> mappings_;
  absl::Status why_not_;
};

// Opens the file `path` if it is complete, of this version and contains `key`. NotFound if it is missing;
// DataLoss, with the reason, if it is not such a file.
absl::StatusOr<MappedFile> OpenMappedFile(const std::string& path, std::string_view key);

}  // namespace winnow
