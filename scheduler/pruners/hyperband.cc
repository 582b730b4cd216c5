#include "scheduler/pruners/hyperband.h"

#include <algorithm>
#include <map>

#include "scheduler/pruners/full_rung.h"
#include "scheduler/pruners/kept.h"
#include "scheduler/pruners/learning_curve.h"
#include "scheduler/pruners/weak_bracket.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

std::vector<Decision> AfterBracket(const JobState& state, const BracketEnded& ended) {
  std::vector<Decision> decisions;
  const std::vector<RungState>& rungs = state.brackets()[ended.bracket].rungs;
  for (size_t r = 0; r < rungs.size(); ++r) {
    for (TrialNumber number : rungs[r].entered) {
      const TrialState& trial = state.trial(number);
      if (trial.ended() || trial.rung != static_cast<int64_t>(r)) continue;
      if (trial.kept) {
        // What still trains in its rung goes on once it has arrived there.
        if (trial.phase == TrialPhase::kPaused) decisions.push_back(GoesOnBeside(state, trial, ended.reason));
        continue;
      }
      decisions.push_back(TrialEnded{number, TrialEnd::kStopped, ended.reason});
    }
  }
  return decisions;
}

}  // namespace

std::vector<Decision> HyperbandPruner::AfterCut(const JobState& state, const RungCut& cut) const {
  const RungState& rung = state.brackets()[cut.bracket].rungs[cut.rung];
  const auto width = static_cast<int64_t>(cut.ranking.size());
  const std::string rule = rule_ + Place(state, cut.bracket, cut.rung);
  const bool by_standing = state.spec().ranks_by_standing();
  const std::string of =
      " of " + std::to_string(width) + " with " + (by_standing ? "" : state.spec().objective_metric + " = ");
  std::map<TrialNumber, std::string> standings;
  if (by_standing) standings = StandingTexts(state, rung);
  std::vector<Decision> decisions;
  std::optional<BracketEnded> own_end;
  std::vector<BracketEnded> all_weak;
  if (stops_weak_brackets_) all_weak = WeakBrackets(state, cut);
  for (BracketEnded& weak : all_weak) {
    if (weak.bracket == cut.bracket) {
      own_end = std::move(weak);
    } else {
      decisions.push_back(std::move(weak));
    }
  }
  for (int64_t i = cut.promoted; i < width; ++i) {
    const TrialState& trial = state.trial(cut.ranking[i]);
    if (trial.ended() || trial.beside) continue;
    const auto value = trial.counted_at(rung.resource, state.spec().objective_value);
    std::string reason = rule + ": rank " + std::to_string(i + 1) + of;
    reason += by_standing ? standings[trial.number] : value ? SixDigits(*value, cut.cutoff) : "no value";
    if (cut.promoted > 0 && by_standing) {
      reason += "; the best " + std::to_string(cut.promoted) + " go on.";
    } else if (cut.promoted > 0) {
      reason += "; the best " + std::to_string(cut.promoted) + " go on, the cut-off is " +
                (value ? SixDigits(cut.cutoff, *value) : SixDigits(cut.cutoff)) + ".";
    } else {
      reason += "; none goes on, since no trial of the rung has a finite value.";
    }
    if (trial.kept) {
      decisions.push_back(GoesOnBeside(state, trial, reason));
    } else {
      decisions.push_back(TrialEnded{trial.number, TrialEnd::kStopped, reason});
    }
  }
  if (own_end) {
    decisions.push_back(*own_end);
    return decisions;
  }
  for (int64_t i = 0; i < cut.promoted; ++i) {
    const TrialState& trial = state.trial(cut.ranking[i]);
    const int64_t to = state.brackets()[cut.bracket].rungs[cut.rung + 1].resource;
    const std::string reason =
        rule + ": rank " + std::to_string(i + 1) + of +
        (by_standing ? standings[trial.number]
                     : SixDigits(*trial.counted_at(rung.resource, state.spec().objective_value))) +
        "; goes on to resource " + std::to_string(to) + ".";
    decisions.push_back(TrialResumed{trial.number, cut.rung + 1, to, reason});
  }
  return decisions;
}

std::optional<Opening> HyperbandPruner::Open(const JobState& state, const Configuration&) const {
  const auto opened = static_cast<int64_t>(state.brackets().size());
  if (opened > 0) {
    const RungState& first = state.brackets().back().rungs[0];
    if (static_cast<int64_t>(first.entered.size()) < state.brackets().back().width(0)) {
      return Opening{opened - 1, 0, first.resource};
    }
  }
  const int64_t count = state.table().bracket_count();
  if (count >= 0 && opened >= count) return std::nullopt;
  return Opening{opened, 0, state.table().bracket(opened).rungs[0].resource};
}

Decision HyperbandPruner::PartFinished(const JobState& state, const TrialState& trial) const {
  if (trial.beside) return EndBeside(state, trial);
  const int64_t resource = std::min(trial.highest_level(), trial.to);
  if (!IsAtTop(state, trial)) return TrialPaused{trial.number, resource};
  std::string reason = "Trained to resource " + std::to_string(resource);
  reason += resource >= trial.to ? ", the top of " : ", the trainer's own end, in ";
  return TrialEnded{trial.number, TrialEnd::kCompleted,
                    reason + Place(state, trial.bracket, trial.rung) + "."};
}

std::vector<Decision> HyperbandPruner::Follow(const JobState& state, const FactBody& newest) const {
  if (state.closing()) return {};
  TrialNumber arrived = 0;
  if (const auto* cut = std::get_if<RungCut>(&newest)) return AfterCut(state, *cut);
  if (const auto* ended = std::get_if<BracketEnded>(&newest)) return AfterBracket(state, *ended);
  if (const auto* report = std::get_if<Reported>(&newest)) {
    auto stop = StopByCurve(state, *report);
    return stop ? std::vector<Decision>{*std::move(stop)} : std::vector<Decision>{};
  }
  if (const auto* resumed = std::get_if<TrialResumed>(&newest)) {
    const TrialState& trial = state.trial(resumed->trial);
    if (trial.at_own_end) return {PartFinished(state, trial)};
  }
  if (const auto* paused = std::get_if<TrialPaused>(&newest)) arrived = paused->trial;
  if (const auto* ended = std::get_if<TrialEnded>(&newest)) arrived = ended->trial;
  if (arrived == 0) return {};
  const auto planned = [](const BracketState& bracket, int64_t rung, int64_t) {
    return bracket.plan.rungs[rung + 1].trials;
  };
  const auto cut = CutOf(state, state.trial(arrived), planned);
  return cut ? std::vector<Decision>{*cut} : std::vector<Decision>{};
}

std::string HyperbandPruner::EndOfPaused(const JobState& state, const TrialState&) const {
  return "Its rung will never be full: " + state.completion_met()->reason;
}

}  // namespace winnow
