#include <fmt/format.h>

#include "trainers/common/checkpoint_folder.h"
#include "base/status_text.h"
#include "trainers/common/whole_file.h"
#include "trainers/gbdt/model/model_file.h"

namespace winnow::gbdt {
namespace {

// Earlier versions wrote JSON.
const std::vector<std::string> kCheckpointEndings = {".ubj", ".json"};

absl::Status Named(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, MessageOf(status)));
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
  return WriteCheckpointFile(folder, checkpoint.model.rounds(), kCheckpointEndings,
                             CheckpointText(checkpoint));
}

absl::StatusOr<GbdtCheckpoint> ReadNewestCheckpoint(const std::string& folder,
                                                    std::vector<std::string>* warnings) {
  GbdtCheckpoint newest;
  const auto take = [&newest](const std::string& text) {
    absl::StatusOr<GbdtCheckpoint> checkpoint = ParseCheckpoint(text);
    if (checkpoint.ok()) newest = *std::move(checkpoint);
    return checkpoint.status();
  };
  absl::Status status = ReadNewestCheckpointFile(folder, kCheckpointEndings, take, warnings);
  if (!status.ok()) return status;
  return newest;
}

}  // namespace winnow::gbdt
