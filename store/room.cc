#include "store/room.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace winnow {
namespace {

// Size of a large batch: with less room, writing would fail again at once.
constexpr int64_t kBatchBytes = 1 << 20;
// Room that a copy must leave to the server.
constexpr int64_t kLeftBytes = 64 << 20;

// Room needed to open it: the log's index, at 32 KiB for each 16 MiB of log, and a new log.
constexpr int64_t kReserveBytes = 1 << 20;

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

}  // namespace

absl::Status CheckRoom(const std::string& file) {
  std::string folder = std::filesystem::path(file).parent_path().string();
  if (folder.empty()) folder = ".";
  const std::optional<int64_t> free = FreeBytes(folder);
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

}  // namespace winnow
