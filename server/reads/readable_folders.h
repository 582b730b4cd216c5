#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "store/database/foreign_file.h"

namespace winnow {

// The files of this host that the server may read because a job names them. Thread-safe.
class ReadableFolders {
 public:
  // All that this process may read: without tokens, everyone may run commands as its user anyway.
  static ReadableFolders Everything() { return {}; }
  // Files below one of these folders that no link leads out of; an empty list: no files. REQUIRES: absolute
  // paths of existing folders; INVALID_ARGUMENT names one that is not.
  static absl::StatusOr<ReadableFolders> Only(const std::vector<std::string>& folders);

  // Sets the database of this process. It and its logs are never opened as foreign files (see ForeignFile).
  void Keep(std::string own_database) { own_database_ = std::move(own_database); }

  // Opens a file by its absolute path. PERMISSION_DENIED outside, with the same words whether or not it
  // exists; INVALID_ARGUMENT, without its name, says what is wrong with one inside.
  absl::StatusOr<ForeignFile> Open(const std::string& path) const;

  // Whether to reveal what is at the absolute path, or that nothing is.
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
