#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/host/check.h"

namespace winnow {

// Checks artifacts: their manifests can be read and name the blobs of their rows; each blob of the database
// is a file of `state_dir` with the right size and digest, unless the folder does not exist, as for a copy.
// Not OK: the tables cannot be read.
absl::Status CheckBlobs(Database& database, const std::string& state_dir, CheckSummary& summary,
                        const TellFinding& tell);

}  // namespace winnow
