#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/cache/file_handle.h"

namespace winnow {

// Where the cache of this user on this host stands, $WINNOW_CACHE_DIR, else $XDG_CACHE_HOME/winnow, else
// $HOME/.cache/winnow, else /tmp/winnow-<uid>; "" if $WINNOW_CACHE_DIR is set and empty, or "off": no cache.
std::string DefaultCacheFolder();

// $WINNOW_CACHE_BYTES, else the smaller of 20 GiB and a tenth of the disk that `folder` is on (or will be).
// InvalidArgument for a variable that is no whole number.
absl::StatusOr<uint64_t> DefaultCacheBytes(const std::string& folder);

// 64 bits of `text`, the same in every process and version (FNV-1a, Fowler, Noll, Vo).
uint64_t StableHash(std::string_view text);

// A folder of files that the processes of one user share: entries (.bin), entries being written (.tmp) and
// notes
// (.memo). Every operation is safe against others at the same time and against the death of any of them.
class CacheFolder {
 public:
  // Makes the folder, for this user alone (mode 0700), if it is not there. PermissionDenied if it is another
  // user's, others may write to it, or this one may not; Unavailable for any other reason.
  static absl::StatusOr<CacheFolder> Open(const std::string& path, uint64_t size_limit);

  const std::string& path() const { return path_; }
  uint64_t size_limit() const { return size_limit_; }
  // What tells one run of the host from the next; "" if the host does not say.
  const std::string& boot_id() const { return boot_id_; }
  std::string EntryPath(uint64_t hash) const;

  // Waits until no other process or thread holds the lock of that number; it is held until the handle closes,
  // at the latest when the process ends.
  absl::StatusOr<FileHandle> Lock(uint64_t number) const;

  struct Temporary {
    FileHandle file;  // holds the lock that says that its writer lives
    std::string path;
  };
  // A new empty file for this user alone; what dead processes have left is removed.
  absl::StatusOr<Temporary> MakeTemporary() const;

  // Removes entries, those not used for longest first and none that is in use, until `bytes` more keep the
  // limit. ResourceExhausted if they cannot.
  absl::Status MakeRoom(uint64_t bytes) const;
  // Removes one entry, chosen likewise; false if there is none.
  bool RemoveOldest() const;

 private:
  struct Entry {
    std::string path;
    uint64_t size = 0;
    int64_t used_at = 0;  // ns
    bool finished = false;
  };
  std::vector<Entry> Entries() const;  // the least recently used first
  static bool RemoveUnlessInUse(const std::string& path);
  absl::StatusOr<FileHandle> LockFolder() const;

  std::string path_, boot_id_;
  uint64_t size_limit_ = 0;
};

}  // namespace winnow
