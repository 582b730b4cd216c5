#include "scheduler/pruners/freeze_thaw.h"

#include <algorithm>

#include "scheduler/pruners/kept.h"
#include "scheduler/pruners/standing_text.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

const std::vector<RungState>& RungsOf(const JobState& state) { return state.brackets()[0].rungs; }

int64_t RungAt(const JobState& state, int64_t resource) {
  const std::vector<RungState>& rungs = RungsOf(state);
  return std::find_if(rungs.begin(), rungs.end(),
                      [resource](const RungState& rung) { return rung.resource == resource; }) -
         rungs.begin();
}

}  // namespace

std::optional<Opening> FreezeThawPruner::Open(const JobState& state,
                                              const Configuration& configuration) const {
  const auto& answer = state.suggestion();
  // An enqueued configuration comes first, whatever the model has said of another trial, or of none.
  const bool of_model =
      answer && answer->trial == state.next_trial() && answer->configuration == configuration;
  const int64_t to = of_model ? answer->to : RungsOf(state).front().resource;
  return Opening{0, RungAt(state, to), to};
}

std::optional<TrialResumed> FreezeThawPruner::Promote(const JobState& state) const {
  const auto& answer = state.suggestion();
  if (!answer || answer->trial == 0 || !answer->configuration.empty()) return std::nullopt;
  return TrialResumed{answer->trial, RungAt(state, answer->to), answer->to, answer->why};
}

Decision FreezeThawPruner::PartFinished(const JobState& state, const TrialState& trial) const {
  if (trial.beside) return EndBeside(state, trial);
  const int64_t resource = std::min(trial.highest_level(), trial.to);
  const bool highest = trial.rung + 1 == static_cast<int64_t>(RungsOf(state).size());
  if (!trial.at_own_end && !highest) return TrialPaused{trial.number, resource};
  std::string reason = "Trained to resource " + std::to_string(resource);
  reason += trial.at_own_end ? ", the trainer's own end." : ", the highest rung.";
  return TrialEnded{trial.number, TrialEnd::kCompleted, reason};
}

std::vector<Decision> FreezeThawPruner::Follow(const JobState&, const FactBody&) const { return {}; }

std::string FreezeThawPruner::EndOfPaused(const JobState& state, const TrialState& trial) const {
  const int64_t resource = RungsOf(state)[trial.rung].resource;
  const auto value = trial.counted_at(resource, state.spec().objective_value);
  const std::string with =
      state.spec().ranks_by_standing()
          ? StandingText(state, trial, resource, RungsOf(state)[trial.rung].top_front->FrontOf(trial.number))
          : state.spec().objective_metric + " = " + (value ? SixDigits(*value) : "no value");
  const TrialNumber original = state.duplicates().OriginalOf(trial.number);
  const std::string why =
      original == trial.number
          ? state.completion_met()->reason
          : "it reported the same as trial " + std::to_string(original) + ", which shows how it would go on.";
  return "Paused at rung " + std::to_string(trial.rung + 1) + " at resource " + std::to_string(resource) +
         " with " + with + ", and not resumed: " + why;
}

}  // namespace winnow
