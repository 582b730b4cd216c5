#include "store/database/room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

namespace winnow {
namespace {

// Size of a large batch: with less room, writing would fail again at once.
constexpr int64_t kBatchBytes = 1 << 20;
// Room that a copy must leave to the server.
constexpr int64_t kLeftBytes = 64 << 20;

// Room needed to open it: the log's index, at 32 KiB for each 16 MiB of log, and a new log.
constexpr int64_t kReserveBytes = 1 << 20;

// SQLite begins its log anew after 1,000 pages of 4 KiB (wal_autocheckpoint).
constexpr off_t kLogBytes = 4 << 20;

std::string ReserveOf(const std::string& file) { return file + ".reserve"; }

std::optional<int64_t> FreeBytes(const std::string& folder) {
  struct statvfs disk;
  if (statvfs(folder.c_str(), &disk) != 0) return std::nullopt;
  return static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
}

std::string Mebibytes(int64_t bytes) {
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

absl::Status Full(const std::string& what, int64_t free, int64_t needed) {
  return absl::ResourceExhaustedError(
      fmt::format("{}: the disk is full: {} are free, {} are needed; free some space, nothing that was "
                  "acknowledged is lost",
                  what, Mebibytes(free), Mebibytes(needed)));
}

std::string FolderOf(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

// Writes zeros from the end of the file up to `size`; if that fails, the file stays as it was.
void FillUpTo(int descriptor, off_t size) {
  const off_t begin = lseek(descriptor, 0, SEEK_END);
  if (begin < 0) return;
  const std::vector<char> zeros(256 << 10);
  for (off_t at = begin; at < size;) {
    const size_t bytes = std::min<size_t>(zeros.size(), static_cast<size_t>(size - at));
    const ssize_t wrote = pwrite(descriptor, zeros.data(), bytes, at);
    if (wrote <= 0) {
      [[maybe_unused]] const int done = ftruncate(descriptor, begin);  // zeros that remain do no harm
      return;
    }
    at += wrote;
  }
}

}  // namespace

absl::Status CheckRoom(const std::string& file) {
  const std::optional<int64_t> free = FreeBytes(FolderOf(file));
  if (!free || *free >= kBatchBytes) return absl::OkStatus();
  return Full(file, *free, kBatchBytes);
}

absl::Status CheckRoomFor(const std::string& folder, int64_t bytes) {
  const std::optional<int64_t> free = FreeBytes(folder);
  if (!free || *free >= bytes + kLeftBytes) return absl::OkStatus();
  return Full(folder, *free, bytes + kLeftBytes);
}

void KeepReserve(const std::string& file) {
  const std::string reserve = ReserveOf(file);
  std::error_code none;
  if (std::filesystem::file_size(reserve, none) >= kReserveBytes && !none) return;
  const int descriptor = open(reserve.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return;
  const bool kept = posix_fallocate(descriptor, 0, kReserveBytes) == 0;
  close(descriptor);
  if (!kept) std::filesystem::remove(reserve, none);
}

bool GiveUpReserve(const std::string& file) {
  std::error_code none;
  return std::filesystem::remove(ReserveOf(file), none);
}

void GrowLog(Database& database) {
  const std::string& file = database.file();
  if (IsPostgres(file) || !CheckRoomFor(FolderOf(file), kLogBytes).ok()) return;
  // While this holds the lock of writers, nobody adds frames or begins the log anew.
  if (!database.Execute("BEGIN IMMEDIATE").ok()) return;
  const int descriptor = open((file + "-wal").c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    FillUpTo(descriptor, kLogBytes);
    close(descriptor);
  }
  (void)database.Execute("ROLLBACK");
}

}  // namespace winnow
