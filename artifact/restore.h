#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

// The bytes of a blob; what it gives is checked against the name.
using ReadBlob = std::function<absl::StatusOr<std::string>(const v1::BlobName&)>;
// Calls what puts the new folder in place, or returns why that must not happen any more.
using ReplaceGuard = std::function<absl::Status(const std::function<absl::Status()>& put_in_place)>;

// Makes the folder hold exactly the manifest's files: written beside it, synced, then put in its place, so
// that it is whole at any moment: what it was, or what it is to be. The folder above it is made. Beside it
// lies nothing afterwards, also of earlier calls whose process died. INVALID_ARGUMENT: a bad manifest;
// DATA_LOSS: a blob's bytes are not those of its name; else what `read` or the file system says.
absl::Status RestoreFolder(const v1::Manifest& manifest, const std::filesystem::path& folder,
                           const ReadBlob& read, const ReplaceGuard& guard = nullptr);

}  // namespace winnow
