#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "trainers/gbdt/model/model.h"

namespace winnow::gbdt {

// The state, besides the data, from which training continues as if it had not stopped.
struct Checkpoint {
  Model model;
  uint64_t data_fingerprint = 0;
  std::vector<std::string> metric_names;
  std::vector<std::vector<float>> history;  // [round][metric]
  bool stopped_early = false;
};

enum class ModelFormat { kJson, kUbjson };

// Returns a model as XGBoost 1.7.4 writes it, in either format. It depends on the content only, and floats
// are restored bit for bit.
std::string ModelText(const Model& model, ModelFormat format = ModelFormat::kJson);

// Reads a model that ModelText or XGBoost (from version 1.0 on) wrote, in JSON or UBJSON, whichever the text
// is. InvalidArgument says why the text is not a whole model; Unimplemented names a feature of a whole model
// that winnow-gbdt cannot predict with.
absl::StatusOr<Model> ParseModel(std::string_view text);

// Checkpoints, always in UBJSON, with the same promises.
std::string CheckpointText(const Checkpoint& checkpoint);
absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text);

// ParseModel for a file.
absl::StatusOr<Model> ReadModel(const std::string& path);
// UBJSON if the name ends in ".ubj", otherwise JSON.
absl::Status WriteModel(const std::string& path, const Model& model);

// Checkpoints of a folder. Write is WriteCheckpointFile. Read returns the newest complete one: NotFound
// if there is none; adds skipped ones to `warnings`.
absl::Status WriteCheckpoint(const std::string& folder, const Checkpoint& checkpoint,
                             const std::set<std::string>& begun_with = {});
absl::StatusOr<Checkpoint> ReadNewestCheckpoint(const std::string& folder,
                                                std::vector<std::string>* warnings);

}  // namespace winnow::gbdt
