#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cache/section_writer.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {

// Changes with the content of the sections, so that entries of other versions are rejected.
inline constexpr const char* kTrainingFileVersion = "winnow-gbdt bins 2";

// Writes training data as sections of a cache file, with arrays in their memory layout.
absl::Status WriteTrainingData(const TrainingData& data, SectionWriter& writer);

// Returns the training data with its arrays in *file, which it keeps. DataLoss if the sections are
// inconsistent.
absl::StatusOr<TrainingData> ReadTrainingData(std::shared_ptr<const MappedFile> file);

}  // namespace winnow::gbdt
