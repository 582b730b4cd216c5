#include "scheduler/pruners/none.h"

#include <algorithm>

namespace winnow {

int64_t FullResource(const SearchSpec& spec, const Configuration& configuration) {
  const int64_t end = spec.OwnEnd(configuration);
  const int64_t most = spec.limits.max_trial_resource;
  if (end <= 0 || most <= 0) return std::max(end, most);
  return std::min(end, most);
}

std::optional<Opening> NoPruner::Open(const JobState& state, const Configuration& configuration) const {
  return Opening{-1, 0, FullResource(state.spec(), configuration)};
}

Decision NoPruner::PartFinished(const JobState&, const TrialState& trial) const {
  const int64_t reached = trial.curve.back().first;
  std::string reason = "Trained to resource " + std::to_string(reached);
  reason += trial.to > 0 && reached >= trial.to ? ", its budget." : ", the trainer's own end.";
  return TrialEnded{trial.number, TrialEnd::kCompleted, reason};
}

std::vector<Decision> NoPruner::Follow(const JobState&, const FactBody&) const { return {}; }

}  // namespace winnow
