#pragma once

#include <string>

#include "cli/session.h"

namespace winnow::cli {

// Prints what the job file would run: brackets, rungs and totals. Needs no server.
Exit ShowPlan(Session& session, const std::string& file, const std::string& name);

}  // namespace winnow::cli
