#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

// Reads the bytes of a blob, on several threads at once; the result is checked against the name.
using ReadBlob = std::function<absl::StatusOr<std::string>(const v1::BlobName&)>;
// Calls `put_in_place`, or returns why the folder must no longer be replaced.
using ReplaceGuard = std::function<absl::Status(const std::function<absl::Status()>& put_in_place)>;

// Makes the folder hold exactly the manifest's files. It writes a folder beside it, syncs that and swaps the
// two, so that the folder is always either the old or the new one. It creates the parent, and leaves no
// temporary folder, not even of earlier calls whose process died. INVALID_ARGUMENT: a bad manifest;
// DATA_LOSS: the bytes of a blob do not match its name; otherwise the error of `read` or of the file system.
absl::Status RestoreFolder(const v1::Manifest& manifest, const std::filesystem::path& folder,
                           const ReadBlob& read, const ReplaceGuard& guard = nullptr);

}  // namespace winnow
