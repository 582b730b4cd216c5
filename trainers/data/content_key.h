#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/data/data_set.h"

namespace winnow {

// Identifies one version of some files.
class ContentKey {
 public:
  // Equal for two readings if and only if the files' names (without folders), order and bytes, the options
  // and the extra text are equal.
  const std::string& text() const { return text_; }

  // Aborted, naming the file, if a file's content was changed since the key was made. To be called after
  // reading: otherwise the data may not match the key. Reads a file again if only its times have changed.
  absl::Status CheckUnchanged() const;

 private:
  friend absl::StatusOr<ContentKey> KeyOfFiles(const std::vector<std::string>&, const DataOptions&,
                                               std::string_view, const CacheFolder*, int);
  std::string text_;
  std::vector<std::string> paths_, stamps_, hashes_;
};

// Reads `files` completely (SHA-256, on up to `threads` threads), except those that have a hash in `memo`
// (nullable) and unchanged size, times, inode and device. A file modified less than two seconds before it is
// read is not recorded: it could change again within the resolution of its times. Errors name the file, with
// codes as of ReadTextFile.
absl::StatusOr<ContentKey> KeyOfFiles(const std::vector<std::string>& files, const DataOptions& options,
                                      std::string_view extra, const CacheFolder* memo, int threads = 1);

}  // namespace winnow
