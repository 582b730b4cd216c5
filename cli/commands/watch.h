#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "cli/session/session.h"

namespace winnow::cli {

struct WatchOptions {
  // Give up when the server was away for so long.
  absl::Duration patience = absl::Minutes(10);
  // Outside a terminal: events in the server's words, models' choices and stops with their reasons too.
  bool verbose = false;
};

// Shows the job until it ends, then its summary. On a terminal a table that is redrawn in place; elsewhere a short
// line for each trial that ends and for what changes the job. kFailure if the job failed, kInterrupted on Ctrl-C, which
// leaves the job running.
Exit Watch(Session& session, const std::string& job, const WatchOptions& options);

// The same for a job just described, events from `after_sequence` on.
Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, const WatchOptions& options);

}  // namespace winnow::cli
