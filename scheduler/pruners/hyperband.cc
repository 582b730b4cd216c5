#include "scheduler/pruners/hyperband.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "scheduler/pruners/learning_curve.h"
#include "scheduler/pruners/standing_text.h"
#include "scheduler/pruners/weak_bracket.h"
#include "scheduler/space/rounded.h"

namespace winnow {
namespace {

std::string Place(const JobState& state, int64_t bracket, int64_t rung) {
  const BracketState& b = state.brackets()[bracket];
  return "bracket " + std::to_string(bracket + 1) + " (s = " + std::to_string(b.plan.s) + "), rung " +
         std::to_string(rung + 1) + " at resource " + std::to_string(b.rungs[rung].resource);
}

bool IsTop(const JobState& state, const TrialState& trial) {
  return trial.rung + 1 == static_cast<int64_t>(state.brackets()[trial.bracket].rungs.size());
}

// The standings at the rung of the trials that have not ended.
std::vector<Standing> StandingsAt(const JobState& state, const RungState& rung) {
  std::vector<Standing> standings;
  for (const TrialNumber number : rung.entered) {
    const TrialState& trial = state.trial(number);
    if (!trial.ended()) standings.push_back(StandingAt(state.spec(), trial, rung.resource));
  }
  return standings;
}

// The cut of a rung where trials are ranked by their standings. REQUIRES all have arrived.
RungCut CutByStanding(const JobState& state, int64_t bracket, int64_t index) {
  const RungState& rung = state.brackets()[bracket].rungs[index];
  const std::vector<Objective> objectives = state.spec().AllObjectives();
  const std::vector<Standing> standings = StandingsAt(state, rung);
  RungCut cut{bracket, index, rung.resource, {}, 0, std::numeric_limits<double>::quiet_NaN()};
  const int64_t places = state.brackets()[bracket].plan.rungs[index + 1].trials;
  for (const RankedTrial& ranked : RankingOf(objectives, standings)) {
    cut.ranking.push_back(ranked.number);
    const Standing standing = StandingAt(state.spec(), state.trial(ranked.number), rung.resource);
    if (!standing.finite() || cut.promoted == places) continue;
    ++cut.promoted;
    if (objectives.size() == 1) cut.cutoff = objectives[0].Key(standing.keys[0]);
  }
  for (const TrialNumber number : rung.entered) {
    if (state.trial(number).ended()) cut.ranking.push_back(number);
  }
  if (objectives.size() == 1) return cut;
  cut.reference = ReferenceOf(objectives, standings);
  for (size_t i = 0; i < cut.reference.size(); ++i) cut.reference[i] = objectives[i].Key(cut.reference[i]);
  return cut;
}

// The cut of the trial's rung, if all have arrived now.
std::optional<RungCut> CutOf(const JobState& state, const TrialState& trial) {
  const BracketState& bracket = state.brackets()[trial.bracket];
  const RungState& rung = bracket.rungs[trial.rung];
  const auto entered = static_cast<int64_t>(rung.entered.size());
  if (rung.cut || bracket.ended || IsTop(state, trial)) return std::nullopt;
  if (entered < bracket.width(trial.rung) || rung.arrived < entered) return std::nullopt;
  if (state.spec().ranks_by_standing()) return CutByStanding(state, trial.bracket, trial.rung);

  struct Rank {
    int group;   // 0: may go on, 1: its objective is no finite number, 2: ended
    double key;  // less is better
    TrialNumber number;
    double value;
  };
  std::vector<Rank> ranks;
  const double sign = state.spec().goal == Goal::kMaximize ? -1 : 1;
  for (TrialNumber number : rung.entered) {
    const TrialState& t = state.trial(number);
    const double value = t.counted_at(rung.resource, state.spec().objective_value)
                             .value_or(std::numeric_limits<double>::quiet_NaN());
    const int group = t.ended() ? 2 : std::isfinite(value) ? 0 : 1;
    ranks.push_back({group, group == 0 ? sign * value : 0, number, value});
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.group, a.key, a.number) < std::tie(b.group, b.key, b.number);
  });

  RungCut cut{trial.bracket, trial.rung, rung.resource, {}, 0, std::numeric_limits<double>::quiet_NaN()};
  const int64_t places = bracket.plan.rungs[trial.rung + 1].trials;
  for (const Rank& rank : ranks) {
    cut.ranking.push_back(rank.number);
    if (rank.group == 0 && cut.promoted < places) {
      ++cut.promoted;
      cut.cutoff = rank.value;
    }
  }
  return cut;
}

// What ranks each trial of a rung that was cut, for the sentences.
std::map<TrialNumber, std::string> StandingTexts(const JobState& state, const RungState& rung) {
  std::map<TrialNumber, std::string> texts;
  for (const RankedTrial& ranked : RankingOf(state.spec().AllObjectives(), StandingsAt(state, rung))) {
    const Standing standing = StandingAt(state.spec(), state.trial(ranked.number), rung.resource);
    texts[ranked.number] = StandingText(state, standing, ranked.front);
  }
  return texts;
}

std::vector<Decision> AfterBracket(const JobState& state, const BracketEnded& ended) {
  std::vector<Decision> decisions;
  const std::vector<RungState>& rungs = state.brackets()[ended.bracket].rungs;
  for (size_t r = 0; r < rungs.size(); ++r) {
    for (TrialNumber number : rungs[r].entered) {
      const TrialState& trial = state.trial(number);
      if (trial.ended() || trial.rung != static_cast<int64_t>(r)) continue;
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
    if (trial.ended()) continue;
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
    decisions.push_back(TrialEnded{trial.number, TrialEnd::kStopped, reason});
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
  const int64_t resource = std::min(trial.highest_level(), trial.to);
  if (!IsTop(state, trial)) return TrialPaused{trial.number, resource};
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
  const auto cut = CutOf(state, state.trial(arrived));
  return cut ? std::vector<Decision>{*cut} : std::vector<Decision>{};
}

std::string HyperbandPruner::EndOfPaused(const JobState& state, const TrialState&) const {
  return "Its rung will never be full: " + state.completion_met()->reason;
}

}  // namespace winnow
