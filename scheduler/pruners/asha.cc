#include "scheduler/pruners/asha.h"

#include <algorithm>

#include "scheduler/pruners/kept.h"
#include "scheduler/pruners/learning_curve.h"
#include "scheduler/pruners/standing_text.h"
#include "scheduler/space/rounded.h"
#include "scheduler/state/budget.h"

namespace winnow {
namespace {

bool Stops(const JobState& state) { return state.spec().pruner.asha_form == AshaForm::kStopping; }

const RungState& RungOf(const JobState& state, const TrialState& trial) {
  return state.brackets()[trial.bracket].rungs[trial.rung];
}

bool IsHighest(const JobState& state, const TrialState& trial) {
  return trial.rung + 1 == static_cast<int64_t>(state.brackets()[trial.bracket].rungs.size());
}

std::string Place(const JobState& state, const TrialState& trial) {
  std::string place =
      state.brackets().size() > 1 ? "bracket " + std::to_string(trial.bracket + 1) + ", " : "";
  return place + "rung " + std::to_string(trial.rung + 1) + " at resource " +
         std::to_string(RungOf(state, trial).resource);
}

double Shown(const JobState& state, double key) { return state.spec().goal == Goal::kMaximize ? -key : key; }

// "ASHA: rung 1 at resource 1: rank 2 of 9 with score = 0.5". REQUIRES the trial has reached its rung;
// `level`: where its value was reported.
std::string RankText(const JobState& state, const TrialState& trial, int64_t level) {
  if (const auto& top = RungOf(state, trial).top_front) {
    return "ASHA: " + Place(state, trial) + ": rank " + std::to_string(top->Rank(trial.number) + 1) + " of " +
           std::to_string(top->size()) + " with " +
           StandingText(state, trial, level, top->FrontOf(trial.number));
  }
  const TopShare& top = *RungOf(state, trial).top;
  const auto bar = top.cutoff() ? top.cutoff() : top.best();
  const double other = bar ? Shown(state, *bar) : 0;
  const auto value = trial.counted_at(level, state.spec().objective_value);
  return "ASHA: " + Place(state, trial) + ": rank " + std::to_string(top.Rank(trial.number) + 1) + " of " +
         std::to_string(top.size()) + " with " + state.spec().objective_metric + " = " +
         (value ? SixDigits(*value, other) : "no value");
}

// With so many digits as tell it from the trial's own value.
std::string Bar(const JobState& state, const TrialState& trial, int64_t level, double key) {
  const double bar = Shown(state, key);
  const auto value = trial.counted_at(level, state.spec().objective_value);
  return value ? SixDigits(bar, *value) : SixDigits(bar);
}

// "the best 3 go on, the cut-off is 0.4"; `verb`: what they do; `level` as above.
std::string CutOff(const JobState& state, const TrialState& trial, int64_t level, const std::string& verb) {
  if (const auto& front = RungOf(state, trial).top_front) {
    if (front->places() > 0) return "the best " + std::to_string(front->places()) + " " + verb;
    const std::string few = std::to_string(state.spec().pruner.rungs.reduction_factor);
    return Stops(state) ? "of fewer than " + few + " only the best passes"
                        : "none goes on before " + few + " have come";
  }
  const TopShare& top = *RungOf(state, trial).top;
  if (const auto cutoff = top.cutoff()) {
    const std::string places = std::to_string(top.places());
    return "the best " + places + " " + verb + ", the cut-off is " + Bar(state, trial, level, *cutoff);
  }
  const std::string least = std::to_string(state.spec().pruner.rungs.reduction_factor);
  if (!Stops(state)) return "none goes on before " + least + " have come";
  if (!top.best()) return "none of them is a finite number";
  return "of fewer than " + least + " only the best passes, which has " +
         Bar(state, trial, level, *top.best());
}

// The stop that the rung which the report reached asks for.
std::optional<TrialEnded> StopAtRung(const JobState& state, const Reported& report) {
  const TrialState& trial = state.trial(report.trial);
  if (trial.ended() || trial.kept || !RungOf(state, trial).Has(trial.number)) return std::nullopt;
  std::string reason = RankText(state, trial, report.resource) + "; ";
  reason += CutOff(state, trial, report.resource, "pass");
  return TrialEnded{trial.number, TrialEnd::kStopped, reason + "."};
}

}  // namespace

std::optional<Opening> AshaPruner::Open(const JobState& state, const Configuration&) const {
  const size_t bracket = state.trials().size() % state.brackets().size();
  const std::vector<RungState>& rungs = state.brackets()[bracket].rungs;
  return Opening{static_cast<int64_t>(bracket), 0, (Stops(state) ? rungs.back() : rungs.front()).resource};
}

std::optional<TrialResumed> AshaPruner::Promote(const JobState& state,
                                                const FrontShare::PassedOver& passed_over) const {
  if (Stops(state)) return std::nullopt;
  const size_t most = state.brackets()[0].rungs.size();
  for (size_t below = 1; below < most; ++below) {  // the highest rung
    for (const BracketState& bracket : state.brackets()) {
      if (below >= bracket.rungs.size()) continue;
      const size_t rung = bracket.rungs.size() - 1 - below;
      const auto best = bracket.rungs[rung].best_waiting(passed_over);
      if (!best) continue;
      const TrialState& trial = state.trial(*best);
      const int64_t to = bracket.rungs[rung + 1].resource;
      if (!PaysEver(state, to - trial.checkpoint)) continue;
      return TrialResumed{*best, trial.rung + 1, to,
                          RankText(state, trial, bracket.rungs[rung].resource) + ", of the best " +
                              std::to_string(bracket.rungs[rung].places()) + "; goes on to resource " +
                              std::to_string(to) + "."};
    }
  }
  return std::nullopt;
}

Decision AshaPruner::PartFinished(const JobState& state, const TrialState& trial) const {
  if (trial.beside) return EndBeside(state, trial);
  const int64_t resource = std::min(trial.highest_level(), trial.to);
  if (!trial.at_own_end && !IsHighest(state, trial) && !Stops(state))
    return TrialPaused{trial.number, resource};
  std::string reason = "Trained to resource " + std::to_string(resource);
  reason +=
      resource >= trial.to && !trial.at_own_end ? ", the top of ASHA's rungs." : ", the trainer's own end.";
  return TrialEnded{trial.number, TrialEnd::kCompleted, reason};
}

std::vector<Decision> AshaPruner::Follow(const JobState& state, const FactBody& newest) const {
  const auto* report = std::get_if<Reported>(&newest);
  if (report == nullptr || state.closing()) return {};
  std::optional<TrialEnded> stop;
  if (Stops(state)) stop = StopAtRung(state, *report);
  if (!stop) stop = StopByCurve(state, *report);
  return stop ? std::vector<Decision>{*stop} : std::vector<Decision>{};
}

std::string AshaPruner::EndOfPaused(const JobState& state, const TrialState& trial) const {
  const int64_t level = RungOf(state, trial).resource;
  const std::string standing = RankText(state, trial, level);
  if (RungOf(state, trial).IsTop(trial.number)) {
    return standing + ", of the best " + std::to_string(RungOf(state, trial).places()) +
           ", but it cannot go on: " + state.completion_met()->reason;
  }
  return standing + "; " + CutOff(state, trial, level, "went on") +
         ", and nothing is left that could change it.";
}

}  // namespace winnow
