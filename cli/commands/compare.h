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
// Prints result, duration and cost, a row each: of whole jobs, or of groups of one job's trials by nodes or
// by a hyperparameter, where times are means per trial. Marks Pareto-optimal rows: no other row is better in
// one of the three and as good in the others.
Exit Compare(Session& session, const CompareOptions& options);

}  // namespace winnow::cli
