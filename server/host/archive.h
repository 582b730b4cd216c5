#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "artifact/files.h"

namespace winnow {

struct Archived {
  int64_t rows = 0;
  std::set<std::string> hidden;  // environment variables of the jobs' trainers, whose values were left out
};

using SyncNames = std::function<absl::Status(const std::filesystem::path& folder)>;

// Writes the jobs of these ids, with all that a read of them needs, to the new file `file`, a database of
// SQLite that nobody else may read: rows of one moment, read again and compared. A server may have
// `database`, a file or an address of PostgreSQL, meanwhile. The values of the environment variables of
// trainers are left out, and so are checkpoints, models and sources; workers are recorded as gone.
// The identity of the new database says that it is an archive (CheckIsNoArchive).
// FAILED_PRECONDITION: there is a `file` already, or a job has not ended; NOT_FOUND names the database or the
// job. After an error there is no new `file`; otherwise a power cut takes neither it nor its name.
// `sync`: another function in the place of SyncFolder, for tests.
absl::StatusOr<Archived> ArchiveJobs(const std::string& database, const std::vector<std::string>& jobs,
                                     const std::string& file, const SyncNames& sync = SyncFolder);

// OK unless `file` is an archive, which is only looked at: it has no tokens, and not all of its jobs' specs.
// Reads a file that may be absent, of another program or in use, and leaves it as it is.
absl::Status CheckIsNoArchive(const std::string& file);

}  // namespace winnow
