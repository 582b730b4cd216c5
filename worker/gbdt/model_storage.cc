#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "worker/gbdt/model_file.h"
#include "worker/gbdt/status_text.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::Status FileError(const std::string& path, const std::string& what) {
  return absl::UnavailableError(fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

absl::Status Named(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, MessageOf(status)));
}

absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError(folder, "cannot open");
  const bool synced = fsync(fd) == 0;
  const absl::Status status = synced ? absl::OkStatus() : FileError(folder, "cannot sync");
  close(fd);
  return status;
}

absl::Status WriteAndSync(const std::string& path, const std::string& text) {
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
  if (status.ok() && fsync(fd) != 0) status = FileError(path, "cannot sync");
  close(fd);
  return status;
}

// Round to path of the folder's finished checkpoints, newest first. Earlier versions named theirs ".json".
std::map<int64_t, fs::path, std::greater<>> ListCheckpoints(const std::string& folder) {
  std::map<int64_t, fs::path, std::greater<>> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    long long round = 0;
    int length = 0;
    const std::string name = entry.path().filename().string();
    if (std::sscanf(name.c_str(), "checkpoint-%lld%n", &round, &length) != 1) continue;
    const std::string ending = name.substr(length);
    if (ending == ".ubj" || (ending == ".json" && found.count(round) == 0)) found[round] = entry.path();
  }
  return found;
}

}  // namespace

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad() || text.bad()) return absl::UnavailableError(path + ": cannot read");
  return text.str();
}

absl::Status WriteFileWhole(const std::string& path, const std::string& text) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error)
    return absl::UnavailableError(
        fmt::format("{}: cannot make the folder: {}", folder.string(), error.message()));
  const std::string temporary = path + ".part";
  if (absl::Status status = WriteAndSync(temporary, text); !status.ok()) return status;
  if (rename(temporary.c_str(), path.c_str()) != 0) return FileError(path, "cannot rename to this name");
  return SyncFolder(folder.empty() ? "." : folder.string());
}

absl::StatusOr<GbdtModel> ReadModel(const std::string& path) {
  absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<GbdtModel> model = ParseModel(*text);
  if (!model.ok()) return Named(path, model.status());
  return model;
}

absl::Status WriteModel(const std::string& path, const GbdtModel& model) {
  return WriteFileWhole(path,
                        ModelText(model, path.ends_with(".ubj") ? ModelFormat::kUbjson : ModelFormat::kJson));
}

absl::Status WriteCheckpoint(const std::string& folder, const GbdtCheckpoint& checkpoint) {
  const fs::path path = fs::path(folder) / fmt::format("checkpoint-{:08}.ubj", checkpoint.model.rounds());
  if (absl::Status status = WriteFileWhole(path.string(), CheckpointText(checkpoint)); !status.ok())
    return status;
  for (const auto& [round, older] : ListCheckpoints(folder)) {
    std::error_code ignored;  // an old checkpoint that stays does no harm
    if (older != path) fs::remove(older, ignored);
  }
  return absl::OkStatus();
}

absl::StatusOr<GbdtCheckpoint> ReadNewestCheckpoint(const std::string& folder,
                                                    std::vector<std::string>* warnings) {
  for (const auto& [round, path] : ListCheckpoints(folder)) {
    absl::StatusOr<std::string> text = ReadWholeFile(path.string());
    absl::StatusOr<GbdtCheckpoint> checkpoint = text.ok() ? ParseCheckpoint(*text) : text.status();
    if (checkpoint.ok()) return checkpoint;
    warnings->push_back(
        fmt::format("{}: {}; this checkpoint is passed over", path.string(), MessageOf(checkpoint.status())));
  }
  return absl::NotFoundError("no checkpoint in " + folder);
}

}  // namespace winnow
