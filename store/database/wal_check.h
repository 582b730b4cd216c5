#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Checks the log beside a database, `file`-wal, for damage that SQLite would take for its end, and so drop
// later acknowledged transactions silently. DATA_LOSS says how much and what to do.
//
// Frames that do not verify are damage, and not the rest of the last transaction after a power cut, if
// - the index beside the log (`file`-shm), which outlives a killed process, counts more frames than verify,
//   or
// - a complete transaction follows them: each is on disk before the next one begins.
// OK also without a log, and if it cannot be read, which SQLite will report.
//
// Works beside a server of another process. REQUIRES: no connection of this process to the file is open
// (closing a file releases this process's locks on it).
absl::Status CheckLog(const std::string& file);

}  // namespace winnow
