#pragma once

#include <cstdint>
#include <string>

namespace winnow {

struct BigJob {
  std::string id;
  int64_t trials = 0;
  int64_t reports = 0;
};

// Adds an ended ASHA job to the database `file`, which is created if missing: 64 workers in virtual time
// search eight hyperparameters, one of them conditional, and report a loss that decreases by a power law,
// with noise, some divergence and some failures. About `reports` reports for each of `trials` trials, all of
// them of the objective. An error ends the program.
BigJob MakeBigJob(const std::string& file, const std::string& name, int64_t trials, int64_t reports);

}  // namespace winnow
