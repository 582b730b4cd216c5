#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/gbdt/model.h"

namespace winnow {

// What training needs, besides the data, to go on as if it had not stopped.
struct GbdtCheckpoint {
  GbdtModel model;
  uint64_t data_fingerprint = 0;
  std::vector<std::string> metric_names;
  std::vector<std::vector<float>> history;  // [round][metric]
  bool stopped_early = false;
};

// Text forms. They depend on the content only, and floats come back bit for bit. Reading returns
// InvalidArgument that says what is wrong for any text that is not a whole file of this version.
std::string ModelText(const GbdtModel& model);
absl::StatusOr<GbdtModel> ParseModel(const std::string& text);
std::string CheckpointText(const GbdtCheckpoint& checkpoint);
absl::StatusOr<GbdtCheckpoint> ParseCheckpoint(const std::string& text);

// Errors name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);
// Either the whole text is at `path` and on disk, or what was there before.
absl::Status WriteFileWhole(const std::string& path, const std::string& text);

absl::StatusOr<GbdtModel> ReadModel(const std::string& path);

// Checkpoints of a folder. Write makes the folder and removes older checkpoints. Read gives the newest that
// is whole: NotFound if there is none; what had to be passed over is added to `warnings`.
absl::Status WriteCheckpoint(const std::string& folder, const GbdtCheckpoint& checkpoint);
absl::StatusOr<GbdtCheckpoint> ReadNewestCheckpoint(const std::string& folder,
                                                    std::vector<std::string>* warnings);

}  // namespace winnow
