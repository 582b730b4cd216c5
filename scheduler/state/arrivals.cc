// What arrivals at open rungs do to a job's state.

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "scheduler/state/job_state.h"

namespace winnow {
namespace {

double KeyAt(const SearchSpec& spec, const TrialState& trial, int64_t level) {
  const double value =
      trial.counted_at(level, spec.objective_value).value_or(std::numeric_limits<double>::quiet_NaN());
  return spec.goal == Goal::kMaximize ? -value : value;
}

}  // namespace

// With what it counts at `level`. REQUIRES an open rung.
void JobState::ArriveAt(RungState& rung, const TrialState& trial, int64_t level) {
  if (rung.top_front) {
    ++rung.arrived;
    const int64_t before = rung.top_front->size();
    rung.top_front->Add(StandingAt(spec(), trial, level));
    if (TraitsOf(spec().pruner.kind).asks_model) {
      earnings_.Arrived(static_cast<size_t>(trial.rung), trial.created_by, trial.chosen_by, before,
                        rung.top_front->PartOfRecord(trial.number));
    }
    NoteDuplicates(trial, level);
    return;
  }
  ++rung.arrived;
  const double key = KeyAt(spec(), trial, level);
  if (TraitsOf(spec().pruner.kind).asks_model) NoteEarning(rung, trial, key);
  rung.top->Add(key, trial.number);
  NoteDuplicates(trial, level);
}

// A duplicate would only repeat what is known: its places at rungs go to other trials. REQUIRES the trial has
// been added to the rung.
void JobState::NoteDuplicates(const TrialState& trial, int64_t level) {
  if (!TraitsOf(spec().pruner.kind).asks_model || trial.curve.empty()) return;
  std::vector<const Curve*> curves = {&trial.curve};
  for (const Curve& curve : trial.further) curves.push_back(&curve);
  const Duplicates::Print print = Duplicates::PrintOf(curves, level);
  for (const TrialNumber each : duplicates_.Arrived(static_cast<size_t>(trial.rung), trial.number, print))
    FailAtRungs(At(each));
}

// A record is better than the best by more than a hair: by a part of what lies between the best and the
// cut-off of the rung's top share. REQUIRES the trial has not been added to the rung.
void JobState::NoteEarning(const RungState& rung, const TrialState& trial, double key) {
  constexpr double kHair = 0.02;
  const TopShare& top = *rung.top;
  const auto best = top.best(), cutoff = top.cutoff();
  const double hair = cutoff ? kHair * (*cutoff - *best) : 0;
  const bool record = std::isfinite(key) && (!best || key < *best - hair);
  earnings_.Arrived(static_cast<size_t>(trial.rung), trial.created_by, trial.chosen_by, top.size(),
                    record ? 1 : 0);
}

// What it showed at rungs leads to nothing: it keeps no place there that another trial may have.
void JobState::FailAtRungs(const TrialState& trial) {
  if (trial.bracket < 0) return;
  for (RungState& rung : brackets_[trial.bracket].rungs) {
    if (rung.is_open()) rung.Fail(trial.number);
  }
}

// It ends without a failure of its own and before its last rung: it does not show how its duplicates would go
// on. The next of them takes its part.
void JobState::ForgetOriginal(const TrialState& trial) {
  for (const TrialNumber each : duplicates_.Left(trial.number)) {
    if (!closing() && At(each).phase != TrialPhase::kFailed) ReturnToRungs(At(each));
  }
}

// Takes FailAtRungs back.
void JobState::ReturnToRungs(const TrialState& trial) {
  std::vector<RungState>& rungs = brackets_[trial.bracket].rungs;
  for (size_t k = 0; k < rungs.size(); ++k) {
    RungState& rung = rungs[k];
    const bool waits =
        static_cast<int64_t>(k) == trial.rung && trial.phase == TrialPhase::kPaused && !trial.beside;
    if (rung.top_front) rung.top_front->Return(StandingAt(spec(), trial, rung.resource), !waits);
    if (rung.top) rung.top->Return(KeyAt(spec(), trial, rung.resource), trial.number, !waits);
  }
}

// A trial that does not pause at its rungs has reported a level: it arrives at every rung up to there, but
// for those beyond one that it does not pass. It stays at that one: the pruner stops it.
void JobState::PassRungs(TrialState& trial, int64_t resource) {
  const bool waits = trial.phase == TrialPhase::kPending;
  if (waits) pending_.erase(PlaceInQueue(trial));
  std::vector<RungState>& rungs = brackets_[trial.bracket].rungs;
  while (trial.rung + 1 < static_cast<int64_t>(rungs.size()) && rungs[trial.rung].resource <= resource) {
    RungState& rung = rungs[trial.rung];
    ArriveAt(rung, trial, resource);
    if (!rung.IsTopOrTied(trial.number)) break;
    rung.Take(trial.number);
    rungs[++trial.rung].entered.push_back(trial.number);
  }
  if (waits) pending_.insert(PlaceInQueue(trial));
}

}  // namespace winnow
