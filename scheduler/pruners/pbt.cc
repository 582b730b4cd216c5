#include "scheduler/pruners/pbt.h"

#include <algorithm>
#include <map>
#include <string>

#include "scheduler/pruners/full_rung.h"
#include "scheduler/pruners/kept.h"
#include "scheduler/pruners/perturbation.h"
#include "scheduler/space/random.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

std::string RungText(const JobState& state, int64_t bracket, int64_t rung) {
  return "PBT: rung " + std::to_string(rung + 1) + " at resource " +
         std::to_string(state.brackets()[bracket].rungs[rung].resource);
}

int64_t ShareOf(const JobState& state, int64_t bracket) {
  const SearchSpec& spec = state.spec();
  return state.brackets()[bracket].plan.rungs[0].trials / spec.pruner.rungs.reduction_factor;
}

// How many trials may still be created; a number as large as the population if there is no limit.
int64_t TrialsLeft(const JobState& state, int64_t population) {
  const int64_t most = state.spec().limits.max_trials;
  if (most == 0) return population;
  return std::max<int64_t>(0, most - static_cast<int64_t>(state.trials().size()));
}

// Members of the rung that are replaced whatever the others do, besides those without a finite value.
int64_t FailedIn(const JobState& state, const RungState& rung) {
  return std::count_if(rung.entered.begin(), rung.entered.end(), [&state](TrialNumber number) {
    return state.trial(number).phase == TrialPhase::kFailed;
  });
}

// How many go on: all but the worst, for whom new trials can begin.
int64_t Survivors(const JobState& state, const BracketState& bracket, int64_t rung, int64_t finite) {
  const auto population = static_cast<int64_t>(bracket.rungs[rung].entered.size());
  const int64_t left =
      std::max<int64_t>(0, TrialsLeft(state, population) - FailedIn(state, bracket.rungs[rung]));
  const int64_t share = bracket.plan.rungs[0].trials / state.spec().pruner.rungs.reduction_factor;
  return finite - std::min({share, finite / 2, left});
}

std::string Rank(const JobState& state, const std::map<TrialNumber, std::string>& standings,
                 TrialNumber number, int64_t resource) {
  if (const auto found = standings.find(number); found != standings.end()) return found->second;
  const auto value = state.trial(number).counted_at(resource, state.spec().objective_value);
  return state.spec().objective_metric + " = " + (value ? SixDigits(*value) : "no value");
}

std::vector<Decision> AfterGeneration(const JobState& state, const RungCut& cut) {
  const RungState& rung = state.brackets()[cut.bracket].rungs[cut.rung];
  const int64_t to = state.brackets()[cut.bracket].rungs[cut.rung + 1].resource;
  const auto width = static_cast<int64_t>(cut.ranking.size());
  const std::string rule = RungText(state, cut.bracket, cut.rung);
  std::map<TrialNumber, std::string> standings;
  if (state.spec().ranks_by_standing()) standings = StandingTexts(state, rung);
  const auto rank = [&](int64_t place) {
    return rule + ": rank " + std::to_string(place + 1) + " of " + std::to_string(width) + " with " +
           Rank(state, standings, cut.ranking[place], cut.resource);
  };
  const int64_t best = std::min(cut.promoted, std::max<int64_t>(1, ShareOf(state, cut.bracket)));
  const int64_t allowed = cut.promoted == 0 ? 0 : TrialsLeft(state, width);
  int64_t created = 0;
  std::vector<Decision> decisions;
  for (int64_t i = cut.promoted; i < width; ++i) {
    const TrialState& trial = state.trial(cut.ranking[i]);
    if (trial.beside || (trial.ended() && trial.phase != TrialPhase::kFailed)) continue;
    const bool replaced = created < allowed;
    const TrialNumber heir = state.next_trial() + created;
    if (!trial.ended()) {
      std::string reason = rank(i);
      reason += replaced           ? "; trial " + std::to_string(heir) + " takes its place."
                : cut.promoted > 0 ? "; no trial takes its place, because max_trials is reached."
                                   : "; no trial of the rung has a finite value.";
      if (trial.kept) {
        decisions.push_back(GoesOnBeside(state, trial, reason));
      } else {
        decisions.push_back(TrialEnded{trial.number, TrialEnd::kStopped, reason});
      }
    }
    if (!replaced) continue;
    ++created;
    const uint64_t drawn = RandomBits(state.spec().seed, heir, Purpose::kPopulation, 0);
    const TrialState& origin = state.trial(cut.ranking[drawn % static_cast<uint64_t>(best)]);
    Configuration configuration = Perturbed(state.spec(), state.space(), origin.configuration, heir);
    const std::string why = "PBT: in place of trial " + std::to_string(trial.number) +
                            "; goes on from trial " + std::to_string(origin.number) +
                            "'s checkpoint at resource " + std::to_string(origin.checkpoint) + " with " +
                            ChangeText(state.spec(), origin.configuration, configuration) + ".";
    decisions.push_back(
        TrialCreated{heir, std::move(configuration), cut.bracket, cut.rung + 1, to, why, origin.number});
  }
  for (int64_t i = 0; i < cut.promoted; ++i) {
    decisions.push_back(TrialResumed{cut.ranking[i], cut.rung + 1, to,
                                     rank(i) + "; goes on to resource " + std::to_string(to) + "."});
  }
  return decisions;
}

}  // namespace

std::optional<Opening> PbtPruner::Open(const JobState& state, const Configuration&) const {
  const RungPlan first = state.table().bracket(0).rungs[0];
  const auto created = static_cast<int64_t>(state.trials().size());
  if (created >= first.trials) return std::nullopt;
  return Opening{0, 0, first.resource};
}

Decision PbtPruner::PartFinished(const JobState& state, const TrialState& trial) const {
  if (trial.beside) return EndBeside(state, trial);
  const int64_t resource = std::min(trial.highest_level(), trial.to);
  if (!trial.at_own_end && !IsAtTop(state, trial)) return TrialPaused{trial.number, resource};
  std::string reason = "Trained to resource " + std::to_string(resource);
  reason += trial.at_own_end ? ", the trainer's own end." : ", the last rung.";
  return TrialEnded{trial.number, TrialEnd::kCompleted, reason};
}

std::vector<Decision> PbtPruner::Follow(const JobState& state, const FactBody& newest) const {
  if (state.closing()) return {};
  if (const auto* cut = std::get_if<RungCut>(&newest)) return AfterGeneration(state, *cut);
  TrialNumber arrived = 0;
  if (const auto* paused = std::get_if<TrialPaused>(&newest)) arrived = paused->trial;
  if (const auto* ended = std::get_if<TrialEnded>(&newest)) arrived = ended->trial;
  if (arrived == 0) return {};
  const auto survivors = [&state](const BracketState& bracket, int64_t rung, int64_t finite) {
    return Survivors(state, bracket, rung, finite);
  };
  const auto cut = CutOf(state, state.trial(arrived), survivors);
  return cut ? std::vector<Decision>{*cut} : std::vector<Decision>{};
}

std::string PbtPruner::EndOfPaused(const JobState& state, const TrialState&) const {
  return "Its generation will never be complete: " + state.completion_met()->reason;
}

}  // namespace winnow
