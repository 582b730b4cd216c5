#pragma once

#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

// Has the server recompute the job's decisions from its recorded facts, and prints the first difference, if
// any; then the exit code is kFailure under `verify`.
Exit Replay(Session& session, const std::string& job, bool verify);

}  // namespace winnow::cli
