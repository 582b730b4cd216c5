#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cache/section_writer.h"
#include "trainers/gbdt/training_data.h"

namespace winnow::gbdt {

// Changes with what the sections hold, so that entries of another version are not taken for this one's.
inline constexpr const char* kTrainingFileVersion = "winnow-gbdt bins 2";

// Training data as sections of a file of the cache, arrays as they stand in memory.
absl::Status WriteTrainingData(const TrainingData& data, SectionWriter& writer);

// The same data, its arrays in *file, which it keeps. DataLoss if the sections do not fit together.
absl::StatusOr<TrainingData> ReadTrainingData(std::shared_ptr<const MappedFile> file);

}  // namespace winnow::gbdt
