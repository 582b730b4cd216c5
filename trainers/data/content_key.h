#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/cache_folder.h"
#include "trainers/data/data_set.h"

namespace winnow {

// What one version of some files is known by.
class ContentKey {
 public:
  // The same for two readings if and only if the files' names (without folders), order and bytes, the options
  // and the extra text are the same.
  const std::string& text() const { return text_; }

  // Aborted, naming the file, if a file was changed since the key was made. To be asked when a reading has
  // ended: what was read may not be what the key stands for.
  absl::Status CheckUnchanged() const;

 private:
  friend absl::StatusOr<ContentKey> KeyOfFiles(const std::vector<std::string>&, const DataOptions&,
                                               std::string_view, const CacheFolder*, int);
  std::string text_;
  std::vector<std::string> paths_, stamps_;
};

// Reads `files` whole (SHA-256, on up to `threads` threads), but for those whose hash is noted in `memo`
// (nullable) and that have, since, neither size, times, inode nor device changed. A file that was modified
// less than two seconds before it is read is not noted: it could change again within the resolution of its
// times. Errors name the file, with codes as of ReadTextFile.
absl::StatusOr<ContentKey> KeyOfFiles(const std::vector<std::string>& files, const DataOptions& options,
                                      std::string_view extra, const CacheFolder* memo, int threads = 1);

}  // namespace winnow
