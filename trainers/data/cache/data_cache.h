#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cache/section_writer.h"

namespace winnow {

// Files of sections shared by all processes of this user on this host: one process builds an entry, the
// others wait for it and map it. An entry is complete or absent, whichever process dies when. Entries do not
// outlive the host's restart. Thread-safe.
class DataCache {
 public:
  using Builder = std::function<absl::Status(SectionWriter& writer)>;

  // Errors as CacheFolder::Open.
  static absl::StatusOr<DataCache> Open(const std::string& folder, uint64_t size_limit_bytes);
  // The cache in DefaultCacheFolder(). It keeps nothing if it is switched off, or if it cannot be opened, in
  // which case *warning says why.
  static DataCache FromEnvironment(std::string* warning);
  // Keeps nothing: GetOrBuild always builds, in memory.
  static DataCache None() { return DataCache(); }

  // Returns the entry of `key`. If there is none, or it is damaged or of another version, `build` makes it,
  // once, in one of the processes that ask at the same time. An error is the builder's own, or
  // ResourceExhausted if memory is short. If the entry cannot be kept (disk full, over the limit, folder
  // gone), it is private to this process and *why_not_kept, if not null, says why; otherwise that is set to
  // "".
  absl::StatusOr<MappedFile> GetOrBuild(std::string_view key, const Builder& build,
                                        std::string* why_not_kept = nullptr) const;

  // Null if this cache keeps nothing.
  const CacheFolder* folder() const { return folder_ ? &*folder_ : nullptr; }

 private:
  DataCache() = default;

  std::optional<CacheFolder> folder_;
};

}  // namespace winnow
