#pragma once

#include <string>
#include <vector>

#include "cli/session/session.h"

namespace winnow::cli {

struct CompareOptions {
  std::vector<std::string> jobs;
  bool by_nodes = false;  // the trials of one job by their number of nodes…
  std::string by;         // …or by the value of this hyperparameter; "": jobs
};
// What was found, how long it took and what it cost, a row each: of jobs in all, or of the trials of one job
// by nodes or a hyperparameter, where times are means of a trial, since groups differ in size. Rows that no
// other one betters in one of the three without being worse in another are marked (Pareto).
Exit Compare(Session& session, const CompareOptions& options);

}  // namespace winnow::cli
