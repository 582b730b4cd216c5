#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "server/host/check.h"

namespace winnow {

struct Restored {
  std::string former;       // the name that the replaced database has now; "": there was none
  bool endpoint = false;    // whether the state of the endpoint for clients of SageMaker was replaced too
  int64_t objects = 0;      // of it
  std::string former_endpoint;  // the name that the replaced state has now; "": there was none
  int64_t checkpoints = 0;  // of trials, in the state directory, that no trial finds any more
  CheckSummary summary;     // of the restored database
};

// Replaces the database `file` by a copy of `backup`, migrated to the newest version. Keeps the replaced
// database, with its log, beside it under another name, and renames the checkpoints in `state_dir`: they are
// newer than the copy. Replaces `state_dir`/sagemaker too, if the backup has it, and keeps the former one
// beside it. Ends local workers that live on from a server that was killed. FAILED_PRECONDITION: a
// server uses the database, or the backup is not sound, with a call of `tell` for each error; the database is
// unchanged then.
absl::StatusOr<Restored> RestoreDatabase(const std::string& backup, const std::string& file,
                                         const std::string& state_dir, const TellFinding& tell);

// "winnow.db was restored from a.db: version 5, …", and what was kept.
std::string Text(const Restored& restored, const std::string& backup, const std::string& file);

}  // namespace winnow
