#pragma once

#include <string>

#include "cli/session/session.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// How a job ended: its best configuration, what was trained against what would have been, and how to look
// further. Asks the server for the best trial; the error is the server's.
absl::StatusOr<std::string> SummaryText(Session& session, const v1::TuningJob& job);

// "num_round 150   eta 0.11   booster gbtree", lines broken at `width` columns.
std::string ConfigurationText(const v1::Trial& trial, int width);

}  // namespace winnow::cli
