#include "scheduler/samplers/worsening.h"

#include <algorithm>
#include <vector>

#include "scheduler/models/hypervolume.h"
#include "scheduler/state/standing.h"

namespace winnow {

bool WorsensOnFront(const JobState& state, const TrialState& trial) {
  if (!state.spec().has_several_objectives() || trial.rung == 0) return false;
  const std::vector<Standing>& front = state.front();
  const auto member = std::find_if(front.begin(), front.end(),
                                   [&](const Standing& each) { return each.number == trial.number; });
  if (member == front.end()) return false;
  const int64_t before = state.brackets()[0].rungs[static_cast<size_t>(trial.rung) - 1].resource;
  const Standing last = StandingAt(state.spec(), trial, before);
  if (!last.finite()) return false;
  bool worse = false;
  for (size_t j = 0; j < member->keys.size(); ++j) worse = worse || member->keys[j] > last.keys[j];
  // Beyond a threshold it has no volume to lose.
  return worse && IsInside(member->keys, ReferenceOf(state.spec().objectives, front));
}

}  // namespace winnow
