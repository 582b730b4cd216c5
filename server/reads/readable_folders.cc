#include "server/reads/readable_folders.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

namespace winnow {
namespace {

namespace fs = std::filesystem;

OwnedDescriptor OpenOwnedFolder(const std::string& folder) {
  return OwnedDescriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

absl::Status OutsideFolders() {
  return absl::PermissionDeniedError(
      "is in no directory that this server reads for jobs; its administrator can add one with --read-dir");
}

}  // namespace

absl::StatusOr<ReadableFolders> ReadableFolders::Only(const std::vector<std::string>& folders) {
  ReadableFolders only;
  only.folders_.emplace();
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (error || !fs::is_directory(real, error)) {
      return absl::InvalidArgumentError(fmt::format("\"{}\" is not a directory on this host", folder));
    }
    for (const std::string& name : {fs::absolute(folder).lexically_normal().string(), real.string()}) {
      const size_t end = name.size() > 1 && name.ends_with('/') ? name.size() - 1 : name.size();
      only.folders_->push_back(name.substr(0, end));
    }
  }
  return only;
}

std::optional<ReadableFolders::Beneath> ReadableFolders::Find(const std::string& path) const {
  const std::string normal = fs::path(path).lexically_normal().string();
  for (const std::string& folder : *folders_) {
    if (normal == folder) return Beneath{folder, "."};
    const std::string start = folder == "/" ? folder : folder + "/";
    if (normal.starts_with(start)) return Beneath{folder, normal.substr(start.size())};
  }
  return std::nullopt;
}

bool ReadableFolders::IsOwn(uint64_t device, uint64_t inode) const {
  if (own_database_.empty()) return false;
  for (const char* part : {"", "-wal", "-shm"}) {
    struct stat own {};
    if (stat((own_database_ + part).c_str(), &own) == 0 && own.st_dev == device && own.st_ino == inode)
      return true;
  }
  return false;
}

absl::StatusOr<ForeignFile> ReadableFolders::Open(const std::string& path) const {
  const auto may_open = [this](uint64_t device, uint64_t inode) { return !IsOwn(device, inode); };
  if (!folders_) return ForeignFile::Open(path, may_open);
  const std::optional<Beneath> beneath = Find(path);
  if (!beneath) return OutsideFolders();
  const OwnedDescriptor folder = OpenOwnedFolder(beneath->folder);
  if (!folder.ok()) return OutsideFolders();
  absl::StatusOr<ForeignFile> file = ForeignFile::OpenBeneath(folder.get(), beneath->rest, may_open);
  if (absl::IsPermissionDenied(file.status())) return OutsideFolders();
  return file;
}

bool ReadableFolders::MayTell(const std::string& path) const {
  if (!folders_) return true;
  const std::optional<Beneath> beneath = Find(path);
  if (!beneath) return false;
  const OwnedDescriptor folder = OpenOwnedFolder(beneath->folder);
  return folder.ok() && StaysBeneath(folder.get(), beneath->rest);
}

}  // namespace winnow
