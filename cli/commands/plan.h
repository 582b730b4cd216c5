#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct PlanOptions {
  std::string file;
  std::string name;
  int64_t workers = 1;      // for the estimate of time
  int64_t slots = 1;        // of each worker
  double unit_seconds = 0;  // 0: no estimate
  double startup_seconds = 0;  // of every part, before its first unit
};

// Prints what the job file would run: brackets, rungs, totals and an estimate of the time. Needs no server.
Exit ShowPlan(Session& session, const PlanOptions& options);

}  // namespace winnow::cli
