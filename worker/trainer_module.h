#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace winnow {

// Writes the Python modules winnow_trainer and winnow_sagemaker, which are part of this program, into
// WORK/python, where every user may read them. Returns that folder.
absl::StatusOr<std::filesystem::path> WriteTrainerModules(const std::filesystem::path& work);

}  // namespace winnow
