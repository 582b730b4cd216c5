#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>

#include "worker/gbdt/model_file.h"
#include "worker/trainer/status_text.h"
#include "worker/trainer/whole_file.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

absl::Status Named(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, MessageOf(status)));
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
