#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/output/table.h"
#include "cli/session/session.h"

namespace winnow::cli {

struct TrialsOptions {
  std::string job;
  std::string sort;                      // a column, " desc" reverses; "": by number
  std::vector<v1::Trial::State> states;  // empty: all
  int64_t limit = 0;                     // 0: all
};
// What trials can be sorted by.
std::vector<std::string> SortColumns(const v1::TuningJobSpec& spec);
Exit ListTrials(Session& session, const TrialsOptions& options);
Exit DescribeTrial(Session& session, const std::string& job, int64_t trial);
// A column per hyperparameter, the later of which go earlier where a terminal is narrow; columns that are to go before
// all of them drop at kDropEarly or above.
constexpr int kDropEarly = 100'000;
void AddHyperparameters(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns);

// The best trial's configuration.
Exit ShowBest(Session& session, const std::string& job);

}  // namespace winnow::cli
