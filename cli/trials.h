#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/session.h"

namespace winnow::cli {

struct TrialsOptions {
  std::string job;
  std::string sort;                      // a column, " desc" reverses; "": by number
  std::vector<v1::Trial::State> states;  // empty: all
  int64_t limit = 0;                     // 0: all
};
Exit ListTrials(Session& session, const TrialsOptions& options);
Exit DescribeTrial(Session& session, const std::string& job, int64_t trial);
// The best trial's configuration.
Exit ShowBest(Session& session, const std::string& job);

}  // namespace winnow::cli
