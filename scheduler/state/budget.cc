#include "scheduler/state/budget.h"

#include "base/mutant.h"

namespace winnow {

bool PaysNow(const JobState& state, int64_t units) {
  return PaysEver(state, units + state.totals().reserved_resource);
}

bool PaysEver(const JobState& state, int64_t units) {
  const int64_t most = state.spec().limits.max_total_resource;
  const int64_t extra = WINNOW_MUTANT("one unit more than the budget is trained") ? 1 : 0;
  return most == 0 || units <= most - state.totals().resource + extra;
}

std::string SpentReason(const JobState& state) {
  const int64_t most = state.spec().limits.max_total_resource;
  if (state.totals().resource >= most) return "max_total_resource = " + std::to_string(most) + " is used up.";
  return "max_total_resource = " + std::to_string(most) +
         " leaves too little for another part: " + std::to_string(state.totals().resource) +
         " units are trained.";
}

}  // namespace winnow
