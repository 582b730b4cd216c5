#include "trainers/data/cache/cache_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "base/environment.h"
#include "fmt/format.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostBytes = uint64_t{20} << 30;
constexpr uint64_t kShareOfDisk = 10;                // one in this many
constexpr uint64_t kFolderLock = uint64_t{1} << 62;  // beyond the lock numbers of entries
constexpr int64_t kMemoSeconds = 90 * 24 * 3600;     // older memos are deleted

absl::Status FolderError(const std::string& path, const std::string& what, int error) {
  const std::string text = fmt::format("cache folder {}: {}: {}", path, what, std::strerror(error));
  return error == EACCES || error == EPERM || error == EROFS ? absl::PermissionDeniedError(text)
                                                             : absl::UnavailableError(text);
}

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

std::string DefaultCacheFolder() {
  return UserCacheFolder().value_or(fmt::format("/tmp/winnow-{}", ::geteuid()));
}

absl::StatusOr<uint64_t> DefaultCacheBytes(const std::string& folder) {
  if (const std::string text = EnvironmentVariable("WINNOW_CACHE_BYTES"); !text.empty()) {
    uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (error != std::errc() || end != text.data() + text.size()) {
      return absl::InvalidArgumentError(
          fmt::format("WINNOW_CACHE_BYTES = {}: expected a whole number of bytes", text));
    }
    return bytes;
  }
  struct statvfs disk {};
  for (fs::path at = fs::absolute(folder);; at = at.parent_path()) {
    if (::statvfs(at.c_str(), &disk) == 0)
      return std::min<uint64_t>(kMostBytes, disk.f_blocks * disk.f_frsize / kShareOfDisk);
    if (at == at.parent_path()) return kMostBytes;
  }
}

uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

absl::StatusOr<CacheFolder> CacheFolder::Open(const std::string& folder_path, uint64_t size_limit) {
  std::string path = folder_path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);  // a failure shows below
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return FolderError(path, "cannot be made", errno);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return FolderError(path, "cannot be read", errno);
  if (!S_ISDIR(info.st_mode)) return FolderError(path, "cannot be used", ENOTDIR);
  if (info.st_uid != ::geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return absl::PermissionDeniedError(fmt::format(
        "cache folder {}: user {} owns it, mode {:o}; expected a folder that is user {}'s and that no "
        "other may write to",
        path, info.st_uid, info.st_mode & 0777, ::geteuid()));
  }
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0)
    return FolderError(path, "cannot be written to", errno);
  CacheFolder folder;
  folder.path_ = path;
  folder.size_limit_ = size_limit;
  folder.boot_id_ = BootId();
  return folder;
}

std::string CacheFolder::EntryPath(uint64_t hash) const { return fmt::format("{}/{:016x}.bin", path_, hash); }

absl::StatusOr<FileHandle> CacheFolder::Lock(uint64_t number) const {
  const std::string path = path_ + "/lock";
  FileHandle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return FolderError(path_, "the lock file cannot be opened", errno);
  // A lock of the open file description, not of the process, so that it also works between threads.
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number == kFolderLock ? kFolderLock : number % kFolderLock);
  lock.l_len = 1;
  while (::fcntl(file.get(), F_OFD_SETLKW, &lock) != 0) {
    if (errno != EINTR) return FolderError(path_, "cannot be locked", errno);
  }
  return file;
}

absl::StatusOr<FileHandle> CacheFolder::LockFolder() const { return Lock(kFolderLock); }

bool CacheFolder::RemoveUnlessInUse(const std::string& path) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 && ::unlink(path.c_str()) == 0;
}

std::vector<CacheFolder::Entry> CacheFolder::Entries() const {
  std::vector<Entry> entries;
  const int64_t now = ::time(nullptr);
  std::error_code error;
  for (fs::directory_iterator at(path_, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    Entry entry{at->path().string()};
    struct stat info {};
    if (::stat(entry.path.c_str(), &info) != 0) continue;
    if (entry.path.ends_with(".memo") && now - info.st_mtim.tv_sec > kMemoSeconds)
      ::unlink(entry.path.c_str());
    entry.finished = entry.path.ends_with(".bin");
    if (!entry.finished && !entry.path.ends_with(".tmp")) continue;
    entry.size = static_cast<uint64_t>(info.st_size);
    entry.used_at = Nanoseconds(info.st_mtim);
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.used_at < b.used_at; });
  return entries;
}

absl::StatusOr<CacheFolder::Temporary> CacheFolder::MakeTemporary() const {
  // no other process may look between creation and lock
  const absl::StatusOr<FileHandle> lock = LockFolder();
  if (!lock.ok()) return lock.status();
  for (const Entry& entry : Entries()) {
    if (!entry.finished) RemoveUnlessInUse(entry.path);
  }
  static std::atomic<int> count{0};
  Temporary temporary;
  temporary.path = fmt::format("{}/{}-{}-{}.tmp", path_, boot_id_, ::getpid(), count++);
  temporary.file = FileHandle(::open(temporary.path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!temporary.file.is_open()) return FolderError(path_, "no file can be made", errno);
  if (::flock(temporary.file.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::unlink(temporary.path.c_str());
    return FolderError(path_, "files cannot be locked", error);
  }
  return temporary;
}

absl::Status CacheFolder::MakeRoom(uint64_t bytes) const {
  const absl::StatusOr<FileHandle> lock = LockFolder();
  if (!lock.ok()) return lock.status();
  const std::vector<Entry> entries = Entries();
  uint64_t used = 0;
  for (const Entry& entry : entries) used += entry.size;
  for (const Entry& entry : entries) {
    if (bytes <= size_limit_ && used <= size_limit_ - bytes) break;
    if (entry.finished && RemoveUnlessInUse(entry.path)) used -= entry.size;
  }
  if (bytes <= size_limit_ && used <= size_limit_ - bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "cache folder {}: no room for {} bytes beside {} in use; its limit is {} (WINNOW_CACHE_BYTES)", path_,
      bytes, used, size_limit_));
}

bool CacheFolder::RemoveOldest() const {
  const absl::StatusOr<FileHandle> lock = LockFolder();
  if (!lock.ok()) return false;
  for (const Entry& entry : Entries()) {
    if (entry.finished && RemoveUnlessInUse(entry.path)) return true;
  }
  return false;
}

}  // namespace winnow
