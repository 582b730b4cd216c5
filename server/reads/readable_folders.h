#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/foreign_file.h"

namespace winnow {

// Which files of this host the server looks at because a job names them. Thread-safe.
class ReadableFolders {
 public:
  // All that this process may read: where nobody needs a token, everyone may run commands as its user anyway.
  static ReadableFolders Everything() { return {}; }
  // What lies beneath one of these and no link leads out of; none: nothing. REQUIRES absolute paths of folders that are
  // there; INVALID_ARGUMENT names one that is not.
  static absl::StatusOr<ReadableFolders> Only(const std::vector<std::string>& folders);

  // The database of this process, which is not opened as anything else (see ForeignFile), nor are its logs.
  void Keep(std::string own_database) { own_database_ = std::move(own_database); }

  // Opens a file by its absolute path. What lies outside is PERMISSION_DENIED in the same words whatever is there;
  // INVALID_ARGUMENT says what is wrong with one that may be looked at, without its name.
  absl::StatusOr<ForeignFile> Open(const std::string& path) const;

  // Whether what is at the absolute path may be told, or that nothing is.
  bool MayTell(const std::string& path) const;
  bool all() const { return !folders_; }

 private:
  struct Beneath {
    std::string folder;
    std::string rest;
  };
  std::optional<Beneath> Find(const std::string& path) const;
  bool IsOwn(uint64_t device, uint64_t inode) const;
  std::optional<std::vector<std::string>> folders_;  // absent: everything. As given, and with links resolved
  std::string own_database_;                         // "": none
};

}  // namespace winnow
