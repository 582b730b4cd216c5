#include "scheduler/pruners/kept.h"

#include <algorithm>

#include "scheduler/state/budget.h"

namespace winnow {
namespace {

// The newest fact that keeps the trial.
const TrialKept& KeptBy(const JobState& state, TrialNumber trial) {
  const auto& changes = state.changes();
  const auto found = std::find_if(changes.rbegin(), changes.rend(), [trial](const auto& change) {
    const auto* kept = std::get_if<TrialKept>(&change.second);
    return kept != nullptr && kept->trial == trial && !kept->released;
  });
  return std::get<TrialKept>(found->second);
}

// Whether no cut of the trial's rung will decide about it.
bool IsPastCut(const JobState& state, const TrialState& trial) {
  const BracketState& bracket = state.brackets()[trial.bracket];
  const RungState& rung = bracket.rungs[trial.rung];
  return rung.is_open() || rung.cut || bracket.ended;
}

template <typename Condition>
std::optional<TrialResumed> FirstKept(const JobState& state, Condition holds) {
  for (const TrialNumber number : state.kept()) {
    const TrialState& trial = state.trial(number);
    if (trial.phase != TrialPhase::kPaused || !holds(trial)) continue;
    TrialResumed onward = GoesOnBeside(state, trial, "");
    if (PaysEver(state, onward.to - trial.checkpoint)) return onward;
  }
  return std::nullopt;
}

}  // namespace

std::string KeptText(const JobState& state, const TrialState& trial) {
  const TrialKept& kept = KeptBy(state, trial.number);
  return "Kept" + ByAndWhy(kept.by, kept.why);
}

TrialResumed GoesOnBeside(const JobState& state, const TrialState& trial, const std::string& reason) {
  const int64_t to = state.brackets()[trial.bracket].rungs.back().resource;
  std::string text =
      KeptText(state, trial) + " It goes on beside the rungs to resource " + std::to_string(to) + ".";
  if (!reason.empty()) text = reason + " " + text;
  return {trial.number, trial.rung, to, std::move(text)};
}

std::optional<TrialResumed> KeptOnward(const JobState& state) {
  return FirstKept(state, [&state](const TrialState& trial) { return IsPastCut(state, trial); });
}

std::optional<TrialResumed> LastKeptOnward(const JobState& state) {
  const JobTotals& totals = state.totals();
  if (totals.live_attempts > 0 || totals.pending > 0 || totals.running > 0 || state.undecided() > 0)
    return std::nullopt;
  return FirstKept(state, [](const TrialState&) { return true; });
}

TrialEnded EndBeside(const JobState& state, const TrialState& trial) {
  const std::string resource = std::to_string(std::min(trial.highest_level(), trial.to));
  return {trial.number, TrialEnd::kCompleted,
          "Trained to resource " + resource + (trial.at_own_end ? ", the trainer's own end" : "") +
              ", beside the rungs. " + KeptText(state, trial)};
}

std::string EndOfKept(const JobState& state, const TrialState& trial) {
  return KeptText(state, trial) + " But it cannot go on: " + state.completion_met()->reason;
}

std::optional<TrialEnded> AfterRelease(const JobState& state, const TrialKept& newest) {
  if (!newest.released) return std::nullopt;
  const TrialState& trial = state.trial(newest.trial);
  if (trial.beside) {
    return TrialEnded{
        newest.trial, TrialEnd::kStopped,
        "It went on beside the rungs only because it was kept. Released" + ByAndWhy(newest.by, newest.why)};
  }
  if (trial.bracket < 0 || !state.brackets()[trial.bracket].ended) return std::nullopt;
  return TrialEnded{newest.trial, TrialEnd::kStopped, state.brackets()[trial.bracket].why_ended};
}

}  // namespace winnow
