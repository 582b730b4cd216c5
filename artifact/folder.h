#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/files.h"

namespace winnow {

// Names a folder whose way there others may change: of `base` is believed what its path says, while no part of
// `below` may be a symbolic link.
struct FolderName {
  FolderName(const std::filesystem::path& folder)  // NOLINT: its last part alone is looked at
      : base(folder.parent_path()), below(folder.filename()) {}
  FolderName(std::filesystem::path the_base, std::filesystem::path the_below)
      : base(std::move(the_base)), below(std::move(the_below)) {}

  std::filesystem::path path() const { return base / below; }
  // The folder above it, or one in it.
  FolderName parent() const { return {base, below.parent_path()}; }
  FolderName operator/(const std::string& name) const { return {base, below / name}; }

  std::filesystem::path base;
  std::filesystem::path below;
};

// A folder that is open: what is done in it is done in it, whatever becomes of its path meanwhile. Symbolic
// links are not followed.
class OpenFolder {
 public:
  // NOT_FOUND: there is none. FAILED_PRECONDITION: a part of `below` is a link, or no folder.
  static absl::StatusOr<OpenFolder> Open(const FolderName& name);
  // Makes what is missing of `below`, each part by `mode`; `base` must be there.
  static absl::StatusOr<OpenFolder> Make(const FolderName& name, mode_t mode = 0777);

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return file_.descriptor(); }
  uid_t owner() const { return owner_; }
  // Whether a file of that owner may be the folder's user's own. All may, unless the folder was given to
  // another user than this process's: what is not that user's was brought there by a hard link, to have this
  // process read it.
  bool Believes(uid_t owner) const;

  absl::StatusOr<OpenFolder> Inner(const std::string& name) const;
  // The same; what is there and is no folder is removed first, and what is missing is made.
  absl::StatusOr<OpenFolder> MakeFolder(const std::string& name, mode_t mode = 0777) const;
  // A regular file for reading, by its path within the folder. NOT_FOUND: it is not there, or is something
  // else, or of an owner that is not believed.
  absl::StatusOr<OpenFile> OpenRegular(const std::filesystem::path& path) const;
  // The names in it. Calls `each` with what fstatat says; what is gone meanwhile is left out. Stops at the
  // first error.
  absl::Status ForEach(const std::function<absl::Status(const std::string& name, const struct stat&)>& each) const;
  // With all that is in it; nothing if there is none.
  absl::Status Remove(const std::string& name) const;
  absl::Status RemoveAll() const;  // that is in it
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
