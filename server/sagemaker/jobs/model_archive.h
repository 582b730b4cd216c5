#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "winnow/v1/artifact.pb.h"

namespace winnow {

// Reads a blob: calls `receive` with its parts.
using ReadBlob = std::function<absl::Status(const std::string& digest,
                                            const std::function<absl::Status(const std::string&)>& receive)>;

// Writes `file`, a tar archive compressed by gzip, with the files of a manifest. `rename` gives each its path
// in the archive. DATA_LOSS: there can be no such archive; other errors are those of the disk and of `read`.
absl::Status WriteModelArchive(const v1::Manifest& manifest, const std::filesystem::path& file,
                               const std::function<std::string(const std::string&)>& rename,
                               const ReadBlob& read);

}  // namespace winnow
