#pragma once

#include <cstdint>
#include <string>

#include "cli/session/session.h"

namespace winnow::cli {

struct SimulateOptions {
  std::string file;
  std::string name;
  std::string table;
  int64_t workers = 1;
  int64_t slots = 1;  // of each worker
  int64_t seed = -1;  // of the first run; -1: the file's
  int64_t seeds = 1;
  double startup_seconds = 0;  // of every part, before its first unit
};

// Runs the job file in virtual time over the table of recorded curves (cli/commands/curve_table.h), once per
// seed, beside a baseline of as many random trials, each trained to its end. Prints the result and the time
// of each. Needs no server.
Exit ShowSimulation(Session& session, const SimulateOptions& options);

}  // namespace winnow::cli
