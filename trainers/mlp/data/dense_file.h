#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "trainers/data/cache/mapped_file.h"
#include "trainers/data/cache/section_writer.h"
#include "trainers/mlp/data/raw_rows.h"
#include "trainers/mlp/data/training_input.h"

namespace winnow::mlp {

// Changes with the content of the sections and its computation, so that entries of other versions are
// rejected.
inline constexpr const char* kDenseFileVersion = "winnow-mlp rows 3";

// Writes scaled rows (validation null: none) and their schema as sections of a cache file.
absl::Status WriteDense(const RawRows& train, const RawRows* validation, const FeatureSchema& schema,
                        SectionWriter& writer);

// Reads them, with arrays in *file, which it keeps; `outputs` stays 0. DataLoss if the sections are
// inconsistent.
absl::StatusOr<TrainingData> ReadDense(const std::shared_ptr<const MappedFile>& file);

}  // namespace winnow::mlp
