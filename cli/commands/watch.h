#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "cli/session/session.h"

namespace winnow::cli {

struct WatchOptions {
  // Gives up when the server was unreachable for this long.
  absl::Duration patience = absl::Minutes(10);
  // Outside a terminal: prints the server's events, including models' choices and stops, with reasons.
  bool verbose = false;
};

// Shows the job until it ends, then its summary. On a terminal: a table redrawn in place; elsewhere: a short
// line for each trial that ends and for each change of the job. Returns kFailure if the job failed,
// kInterrupted on Ctrl-C, which leaves the job running.
Exit Watch(Session& session, const std::string& job, const WatchOptions& options);

// Watches a job just described, with events after `after_sequence`.
Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, const WatchOptions& options);

}  // namespace winnow::cli
