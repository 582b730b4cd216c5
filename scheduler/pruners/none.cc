#include "scheduler/pruners/none.h"

namespace winnow {

std::optional<Opening> NoPruner::Open(const JobState& state, const Configuration& configuration) const {
  return Opening{-1, 0, state.spec().FullResource(configuration)};
}

Decision NoPruner::PartFinished(const JobState&, const TrialState& trial) const {
  const int64_t reached = trial.highest_level();
  std::string reason = "Trained to resource " + std::to_string(reached);
  reason += trial.to > 0 && reached >= trial.to ? ", its budget." : ", the trainer's own end.";
  return TrialEnded{trial.number, TrialEnd::kCompleted, reason};
}

std::vector<Decision> NoPruner::Follow(const JobState&, const FactBody&) const { return {}; }

}  // namespace winnow
