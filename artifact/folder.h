#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/files.h"

namespace winnow {

// Names a folder on a path that other users may change: `base` is trusted as it is, but no part of `below`
// may be a symbolic link.
struct FolderName {
  FolderName(const std::filesystem::path& folder)  // NOLINT: its last part alone is looked at
      : base(folder.parent_path()), below(folder.filename()) {}
  FolderName(std::filesystem::path the_base, std::filesystem::path the_below)
      : base(std::move(the_base)), below(std::move(the_below)) {}

  std::filesystem::path path() const { return base / below; }
  // The parent folder, or a child.
  FolderName parent() const { return {base, below.parent_path()}; }
  FolderName operator/(const std::string& name) const { return {base, below / name}; }

  std::filesystem::path base;
  std::filesystem::path below;
};

// Removes what is at `path`, with its content, however deeply nested, and follows no link in it; does nothing
// if it is missing.
absl::Status RemoveTree(const std::filesystem::path& path);

// An open folder: operations apply to this folder even if its path changes. Follows no symbolic links.
class OpenFolder {
 public:
  // NOT_FOUND: it does not exist. FAILED_PRECONDITION: a part of `below` is a link, or not a folder.
  static absl::StatusOr<OpenFolder> Open(const FolderName& name);
  // Creates the missing parts of `below` with `mode`; `base` must exist.
  static absl::StatusOr<OpenFolder> Make(const FolderName& name, mode_t mode = 0777);

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return file_.descriptor(); }
  uid_t owner() const { return owner_; }
  // Whether to trust a file of that owner. True for every owner, unless the folder was given to another user
  // than this process's: then a file of a third owner got there by a hard link, made to have this process
  // read it.
  bool Believes(uid_t owner) const;

  absl::StatusOr<OpenFolder> Inner(const std::string& name) const;
  // Creates a child folder, in place of anything there that is not one. False: there was one.
  absl::StatusOr<bool> MakeIfMissing(const std::string& name, mode_t mode = 0777) const;
  // The same, and opens it.
  absl::StatusOr<OpenFolder> MakeFolder(const std::string& name, mode_t mode = 0777) const;
  // Opens a regular file for reading, by its path within the folder. NOT_FOUND: it is missing, not a regular
  // file, or of an owner that is not trusted.
  absl::StatusOr<OpenFile> OpenRegular(const std::filesystem::path& path) const;
  // Calls `each` for the names in it with the result of fstatat; skips names that vanish meanwhile. Stops at
  // the first error.
  absl::Status ForEach(
      const std::function<absl::Status(const std::string& name, const struct stat&)>& each) const;
  // Removes it with its content, however deeply nested; does nothing if it is missing.
  absl::Status Remove(const std::string& name) const;
  absl::Status RemoveAll() const;  // removes the content, not the folder
  absl::Status SetMode(mode_t mode) const;

 private:
  OpenFolder(std::filesystem::path path, OpenFile file, uid_t owner)
      : path_(std::move(path)), file_(std::move(file)), owner_(owner) {}
  static absl::StatusOr<OpenFolder> Wrap(const std::filesystem::path& path, int descriptor);

  std::filesystem::path path_;
  OpenFile file_;
  uid_t owner_;
};

}  // namespace winnow
