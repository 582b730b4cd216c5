#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/data/cache/file_handle.h"

namespace winnow {

// The cache folder of this user on this host: $WINNOW_CACHE_DIR, else $XDG_CACHE_HOME/winnow, else
// $HOME/.cache/winnow, else /tmp/winnow-<uid>; "" if $WINNOW_CACHE_DIR is empty or "off": no cache.
std::string DefaultCacheFolder();

// $WINNOW_CACHE_BYTES, else the smaller of 20 GiB and a tenth of the disk of `folder`. InvalidArgument if the
// variable is not a whole number.
absl::StatusOr<uint64_t> DefaultCacheBytes(const std::string& folder);

// 64 bits of `text`, the same in every process and version (FNV-1a, Fowler, Noll, Vo).
uint64_t StableHash(std::string_view text);

// A folder of files shared by the processes of one user: entries (.bin), entries being written (.tmp) and
// memos (.memo). Every operation is safe against concurrent ones and against the death of any process.
class CacheFolder {
 public:
  // Creates the folder, private to this user (mode 0700), if it is missing. PermissionDenied if it is another
  // user's, others may write to it, or this user may not; Unavailable for any other reason.
  static absl::StatusOr<CacheFolder> Open(const std::string& path, uint64_t size_limit);

  const std::string& path() const { return path_; }
  uint64_t size_limit() const { return size_limit_; }
  // Identifies one run of the host; "" if the host does not report it.
  const std::string& boot_id() const { return boot_id_; }
  std::string EntryPath(uint64_t hash) const;

  // Waits until no other process or thread holds the lock of that number. It is held until the handle closes,
  // at the latest when the process ends.
  absl::StatusOr<FileHandle> Lock(uint64_t number) const;

  struct Temporary {
    FileHandle file;  // holds the lock that shows that its writer lives
    std::string path;
  };
  // Creates an empty file, private to this user; removes the files of dead processes.
  absl::StatusOr<Temporary> MakeTemporary() const;

  // Removes entries not in use, the least recently used first, until `bytes` more fit the limit.
  // ResourceExhausted if they cannot.
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
