#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "cli/session.h"

namespace winnow::cli {

struct WatchOptions {
  std::string job;
  // Give up when the server was away for so long.
  absl::Duration patience = absl::Minutes(10);
};

// Shows the job until it ends, then its summary. On a terminal a table that is redrawn in place; elsewhere a
// line per notable event. kFailure if the job failed, kInterrupted on Ctrl-C, which leaves the job running.
Exit Watch(Session& session, const WatchOptions& options);

// The same for a job just described, events from `after_sequence` on.
Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, absl::Duration patience);

// The table: how `job` stands `elapsed` seconds after its creation, and the last events.
std::string WatchFrame(const Session& session, const v1::TuningJob& job, double elapsed,
                       const std::vector<v1::TuningJobEvent>& last_events);

}  // namespace winnow::cli
