#pragma once

#include <string>
#include <vector>

#include "cli/session/session.h"
#include "winnow/v1/tuning.pb.h"

namespace winnow::cli {

// Prints the ranges that earlier jobs speak for (scheduler/suggest_ranges.h), each with the reason, and all
// parameters as JSON for the job file. `from`: the jobs; empty: the newest that have ended, with the same
// objective and some of the same parameters. A range that the job file's other fields do not allow is left
// out, which is said.
Exit ShowSuggestedRanges(Session& session, const v1::TuningJobSpec& spec,
                         const std::vector<std::string>& from);

}  // namespace winnow::cli
