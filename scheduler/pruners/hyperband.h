#pragma once

#include "scheduler/pruners/pruner.h"

namespace winnow {

// Hyperband (Li et al., JMLR 18:1-52, Algorithm 1) with synchronous rungs. A rung is cut when every trial
// admitted to it has arrived: it was trained to the rung's level, reached its own end below it, or ended for
// whatever reason. Trials are ranked by TrialState::counted_at, or by RankingOf (scheduler/state/standing.h)
// with several objectives or metric constraints. The best go on, as many as the next rung is planned to hold;
// only finite objectives are ever promoted. A bracket may end as a weak one (weak_bracket.h), a trial by its
// learning curve (learning_curve.h). SUCCESSIVE_HALVING is the same rule with another table.
class HyperbandPruner : public Pruner {
 public:
  // `rule` begins the reasons of its stops. Weak brackets are looked for only among brackets that differ.
  HyperbandPruner(const char* rule, bool stops_weak_brackets)
      : rule_(rule), stops_weak_brackets_(stops_weak_brackets) {}

  std::optional<Opening> Open(const JobState& state, const Configuration& configuration) const override;
  Decision PartFinished(const JobState& state, const TrialState& trial) const override;
  std::vector<Decision> Follow(const JobState& state, const FactBody& newest) const override;
  std::string EndOfPaused(const JobState& state, const TrialState& trial) const override;

 private:
  // Weak brackets end, the worst stop, and the best go on unless their own bracket is a weak one.
  std::vector<Decision> AfterCut(const JobState& state, const RungCut& cut) const;

  const char* rule_;
  bool stops_weak_brackets_;
};

}  // namespace winnow
