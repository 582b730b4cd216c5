#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// Describes the files of a folder of code with their blobs and, if git knows the folder, its commit. Leaves
// out what `exclude` and the folder's .winnowignore, or else its .gitignore, match, and everything named
// .git. A link to a file of the folder becomes a copy of it. Errors name the file and what was expected:
// NOT_FOUND: no such folder; FAILED_PRECONDITION: a link that leaves the folder, a file that is no file, that
// cannot be read or that changed meanwhile; INVALID_ARGUMENT: too many files or bytes, or none.
absl::StatusOr<v1::Source> PackSource(const std::filesystem::path& folder,
                                      const std::vector<std::string>& exclude);

}  // namespace winnow::cli
