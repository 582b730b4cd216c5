#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/space/types.h"
#include "scheduler/state/hyperband_table.h"

namespace winnow {

// What a job would run. Where the pruner decides as trials come, the numbers assume that each rung promotes
// one of every reduction_factor trials (ASHA), or are upper bounds (all others), and the note says so. A
// number that is not known beforehand is 0.
struct Plan {
  std::vector<BracketPlan> brackets;  // empty without a bracket pruner; one cycle if cycles go on
  int64_t trials = 0;
  int64_t evaluations = 0;  // trial parts: a trial counts once per rung
  int64_t resource = 0;     // as the job would run: rungs resume if the trainer does
  int64_t resource_with_resume = 0;
  int64_t resource_without_resume = 0;
  int64_t full_resource = 0;  // every trial trained to its end
  std::string note;
};

// REQUIRES spec is valid (scheduler/validate.h).
Plan MakePlan(const SearchSpec& spec);

}  // namespace winnow
