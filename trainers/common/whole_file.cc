#include "trainers/common/whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::Status FileError(const std::string& path, const std::string& what) {
  return absl::UnavailableError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(folder, "cannot open");
  const bool synced = fsync(fd) == 0;
  const absl::Status status = synced ? absl::OkStatus() : FileError(folder, "cannot sync");
  close(fd);
  return status;
}

// A file is synced to the disk through a descriptor of its own: the kernel syncs its pages, whoever wrote
// them.
absl::Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT ? absl::OkStatus() : FileError(path, "cannot open");  // replaced since
  const bool synced = fsync(fd) == 0;
  const absl::Status status = synced ? absl::OkStatus() : FileError(path, "cannot sync");
  close(fd);
  return status;
}

std::string FolderOf(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

thread_local LateSync* late_sync = nullptr;

absl::Status WriteText(const std::string& path, const std::string& text, bool syncs) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return FileError(path, "cannot write");
  absl::Status status;
  for (std::size_t at = 0; at < text.size() && status.ok();) {
    const ssize_t written = write(fd, text.data() + at, text.size() - at);
    if (written >= 0)
      at += static_cast<std::size_t>(written);
    else if (errno != EINTR)
      status = FileError(path, "cannot write");
  }
  const bool kept =
      !syncs || fsync(fd) == 0 || errno == EINVAL;  // special files, such as pipes, cannot be synced
  if (status.ok() && !kept) status = FileError(path, "cannot sync");
  close(fd);
  return status;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    return absl::InvalidArgumentError(path + ": is a directory; expected a file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.bad()) return absl::UnavailableError(path + ": cannot read");
  return text.str();
}

absl::Status WriteFileWhole(const std::string& path, const std::string& text) {
  return ReplaceFiles(path, text, {});
}

absl::Status ReplaceFiles(const std::string& path, const std::string& text,
                          std::vector<std::string> replaced) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    return absl::UnavailableError(
        fmt::format("{}: cannot create the directory: {}", folder.string(), error.message()));
  // Pipes and devices are not replaced.
  if (const fs::file_status now = fs::status(path, error); fs::is_other(now))
    return WriteText(path, text, true);
  const std::string temporary = path + ".part";
  if (absl::Status status = WriteText(temporary, text, late_sync == nullptr); !status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) return FileError(path, "cannot rename to this name");
  if (late_sync != nullptr) {
    late_sync->files_.push_back({path, std::move(replaced)});
    return absl::OkStatus();
  }
  if (absl::Status status = SyncFolder(FolderOf(path)); !status.ok()) return status;
  for (const std::string& older : replaced) unlink(older.c_str());  // one that stays does no harm
  return absl::OkStatus();
}

LateSync::Scope::Scope(LateSync* sync) : before_(std::exchange(late_sync, sync)) {}
LateSync::Scope::~Scope() { late_sync = before_; }

LateSync::~LateSync() { static_cast<void>(Await()); }

void LateSync::Begin() {
  {
    const MutexLock lock(mutex_);
    std::move(files_.begin(), files_.end(), std::back_inserter(begun_));
    files_.clear();
    if (running_ || begun_.empty()) return;
    running_ = true;
  }
  if (thread_.joinable()) thread_.join();  // it has nothing left to do
  thread_ = std::thread([this] { Run(); });
}

void LateSync::Run() {
  while (true) {
    std::vector<File> files;
    {
      const MutexLock lock(mutex_);
      files = std::exchange(begun_, {});
      running_ = !files.empty();
      if (!running_) return;
    }
    for (auto file = files.begin(); file != files.end(); ++file) {
      const bool is_replaced = std::any_of(file + 1, files.end(), [&file](const File& later) {
        return std::find(later.replaced.begin(), later.replaced.end(), file->path) != later.replaced.end();
      });
      if (is_replaced) continue;
      absl::Status status = SyncFile(file->path);
      if (status.ok()) status = SyncFolder(FolderOf(file->path));
      if (!status.ok()) {
        const MutexLock lock(mutex_);
        status_.Update(status);
        continue;
      }
      for (const std::string& older : file->replaced) unlink(older.c_str());
    }
  }
}

absl::Status LateSync::SoFar() {
  const MutexLock lock(mutex_);
  return status_;
}

absl::Status LateSync::Await() {
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  return std::exchange(status_, absl::OkStatus());
}

}  // namespace winnow
