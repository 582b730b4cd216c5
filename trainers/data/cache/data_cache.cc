#include "trainers/data/cache/data_cache.h"

#include <utility>

#include "absl/status/status.h"
#include "base/status_text.h"

namespace winnow {

absl::StatusOr<DataCache> DataCache::Open(const std::string& folder, uint64_t size_limit_bytes) {
  absl::StatusOr<CacheFolder> opened = CacheFolder::Open(folder, size_limit_bytes);
  if (!opened.ok()) return opened.status();
  DataCache cache;
  cache.folder_ = *std::move(opened);
  return cache;
}

DataCache DataCache::FromEnvironment(std::string* warning) {
  warning->clear();
  const std::string folder = DefaultCacheFolder();
  if (folder.empty()) return None();
  const absl::StatusOr<uint64_t> bytes = DefaultCacheBytes(folder);
  absl::StatusOr<DataCache> cache = bytes.ok() ? Open(folder, *bytes) : bytes.status();
  if (cache.ok()) return *std::move(cache);
  *warning = MessageOf(cache.status());
  return None();
}

absl::StatusOr<MappedFile> DataCache::GetOrBuild(std::string_view key, const Builder& build,
                                                 std::string* why_not_kept) const {
  std::string ignored;
  std::string* const why_not = why_not_kept != nullptr ? why_not_kept : &ignored;
  why_not->clear();
  std::string full_key(key), path;
  FileHandle lock;
  const CacheFolder* writable = folder();
  if (folder_) {
    full_key += "\n" + folder_->boot_id();
    const uint64_t hash = StableHash(full_key);
    path = folder_->EntryPath(hash);
    absl::StatusOr<MappedFile> file = OpenMappedFile(path, full_key);
    if (file.ok()) return file;
    absl::StatusOr<FileHandle> locked = folder_->Lock(hash);
    if (locked.ok()) {
      lock = *std::move(locked);
      file = OpenMappedFile(path, full_key);  // another process may have built it in the meantime
      if (file.ok()) return file;
    } else {
      *why_not = MessageOf(locked.status());
      writable = nullptr;
    }
  }
  SectionWriter writer(writable);
  if (absl::Status status = build(writer); !status.ok()) return status;
  std::string why_not_published;
  absl::StatusOr<MappedFile> file = std::move(writer).Finish(path, full_key, &why_not_published);
  if (why_not->empty()) *why_not = why_not_published;
  return file;
}

}  // namespace winnow
