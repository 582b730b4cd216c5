#pragma once

#include <cstdint>
#include <string>

namespace winnow {

struct BigJob {
  std::string id;
  int64_t trials = 0;
  int64_t reports = 0;
};

// Puts an ended ASHA job into the database `file`, which is made if it is not there: 64 workers in virtual
// time search eight hyperparameters, one of them conditional, and report a loss that falls along a power law,
// with noise, some divergence and some failures. About `reports` reports for each of `trials` trials, all of
// them the objective. What does not work ends the program.
BigJob MakeBigJob(const std::string& file, const std::string& name, int64_t trials, int64_t reports);

}  // namespace winnow
