#pragma once

#include <string>

#include "cli/session/session.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// Returns the summary of an ended job: its best configuration, the training done and saved, and commands for
// more details. Asks the server for the best trial; errors are the server's.
absl::StatusOr<std::string> SummaryText(Session& session, const v1::TuningJob& job);

// Returns "num_round 150   eta 0.11   booster gbtree", wrapped at `width` columns.
std::string ConfigurationText(const v1::Trial& trial, int width);

}  // namespace winnow::cli
