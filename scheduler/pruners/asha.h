#pragma once

#include "scheduler/pruners/pruner.h"

namespace winnow {

// ASHA (Li et al., arXiv 1810.05934, Algorithm 2), in two forms. Trial n opens bracket (n - 1) mod brackets.
// Places at a rung are floor(n / eta) of the n trials that have reached it; failed ones have not, and a value
// that is not finite counts among n but has no place.
//
// Promotion: trials pause at every rung. A free slot goes to the best paused trial that has a place, at the
// highest rung where there is one, and only then to a new trial. What max_total_resource can never pay for is
// passed over.
//
// Stopping: trials are trained on to max_resource, and stop at the first rung where they have no place among
// those so far, themselves included. Two things follow Optuna's SuccessiveHalvingPruner, since both stop a
// trial only if it is shown to be worse: a value equal to the last one that has a place passes too; and while
// n < eta, where nobody has a place, the best so far passes, so that the first trial of a job is never
// stopped.
//
// A trial that its trainer ended below its rung is completed, and takes part in that rung with its last
// value.
class AshaPruner : public Pruner {
 public:
  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  std::optional<TrialResumed> Promote(const JobState& state) const override { return Promote(state, {}); }
  // The same; of several objectives, without the trials that are passed over (RungState::best_waiting).
  std::optional<TrialResumed> Promote(const JobState& state, const FrontShare::PassedOver& passed_over) const;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
  std::string EndOfPaused(const JobState& state, const TrialState& trial) const override;
};

}  // namespace winnow
