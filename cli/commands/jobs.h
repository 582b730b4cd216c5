#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

Exit ListJobs(Session& session, int64_t limit);  // 0: all
Exit DescribeJob(Session& session, const std::string& job);
Exit StopJob(Session& session, const std::string& job);
Exit DeleteJob(Session& session, const std::string& job);

// Returns the current rungs of a job's brackets, a line each; "" if it has none.
std::string BracketsText(const Session& session, const v1::TuningJob& job);

}  // namespace winnow::cli
