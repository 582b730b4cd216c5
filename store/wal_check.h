#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace winnow {

// Looks at the log beside a database, `file`-wal, for damage that SQLite would take for its end: what comes after it would
// be forgotten without a word, though it was acknowledged. DATA_LOSS says how much and what to do.
//
// Frames that do not verify are damage, and not what a power cut leaves of the last transaction, if
// - the index beside the log (`file`-shm), which outlives a killed process, knows of more frames than verify, or
// - a whole transaction comes after them: each is on the disk before the next one begins.
// OK also where there is no log, and where it cannot be read, which SQLite will say.
//
// REQUIRES no connection of this process to the file is open (closing a file gives back this process's locks on it).
// Works beside a server of another process.
absl::Status CheckLog(const std::string& file);

}  // namespace winnow
