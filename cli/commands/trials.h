#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/table.h"
#include "cli/session/session.h"

namespace winnow::cli {

struct TrialsOptions {
  std::string job;
  std::string sort;                      // a column; " desc" reverses; "": by number
  std::vector<v1::Trial::State> states;  // empty: all
  int64_t limit = 0;                     // 0: all
};
// Returns the columns by which trials can be sorted.
std::vector<std::string> SortColumns(const v1::TuningJobSpec& spec);
Exit ListTrials(Session& session, const TrialsOptions& options);
Exit DescribeTrial(Session& session, const std::string& job, int64_t trial);
// Adds a column per hyperparameter. On a narrow terminal the last ones are dropped first; a column to be
// dropped before all of them has a drop of kDropEarly or more.
constexpr int kDropEarly = 100'000;
void AddHyperparameters(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns);

// Prints the best trial's configuration.
Exit ShowBest(Session& session, const std::string& job);

}  // namespace winnow::cli
