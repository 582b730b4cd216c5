#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/host/check.h"

namespace winnow {

// Artifacts: their manifests can be read and name the blobs that their rows name; and each blob of the
// database is a file of `state_dir` of the right size and with the bytes of its digest, unless there is no
// such folder, as of a copy. Not OK: the tables cannot be read.
absl::Status CheckBlobs(Database& database, const std::string& state_dir, CheckSummary& summary,
                        const TellFinding& tell);

}  // namespace winnow
