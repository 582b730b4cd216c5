#pragma once

#include <filesystem>

#include "absl/status/statusor.h"

namespace winnow {

// Writes the Python module winnow_trainer, which is part of this program, into WORK/python, where every user
// may read it. Returns that folder.
absl::StatusOr<std::filesystem::path> WriteTrainerModule(const std::filesystem::path& work);

}  // namespace winnow
