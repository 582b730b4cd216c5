#include "scheduler/pruners/full_rung.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "scheduler/pruners/standing_text.h"
#include "scheduler/state/standing.h"

namespace winnow {
namespace {

// Whether the trial takes no part any more in what is decided at its rung.
bool HasLeft(const TrialState& trial) { return trial.ended() || trial.beside; }

// The standings at the rung of the trials that have not left it.
std::vector<Standing> StandingsAt(const JobState& state, const RungState& rung) {
  std::vector<Standing> standings;
  for (const TrialNumber number : rung.entered) {
    const TrialState& trial = state.trial(number);
    if (!HasLeft(trial)) standings.push_back(StandingAt(state.spec(), trial, rung.resource));
  }
  return standings;
}

// The cut of a rung where trials are ranked by their standings. REQUIRES all have arrived.
RungCut CutByStanding(const JobState& state, int64_t bracket, int64_t index, const PlacesOf& places) {
  const RungState& rung = state.brackets()[bracket].rungs[index];
  const std::vector<Objective> objectives = state.spec().AllObjectives();
  const std::vector<Standing> standings = StandingsAt(state, rung);
  RungCut cut{bracket, index, rung.resource, {}, 0, std::numeric_limits<double>::quiet_NaN()};
  const int64_t finite = std::count_if(standings.begin(), standings.end(),
                                       [](const Standing& standing) { return standing.finite(); });
  const int64_t most = places(state.brackets()[bracket], index, finite);
  for (const RankedTrial& ranked : RankingOf(objectives, standings)) {
    cut.ranking.push_back(ranked.number);
    const Standing standing = StandingAt(state.spec(), state.trial(ranked.number), rung.resource);
    if (!standing.finite() || cut.promoted == most) continue;
    ++cut.promoted;
    if (objectives.size() == 1) cut.cutoff = objectives[0].Key(standing.keys[0]);
  }
  for (const TrialNumber number : rung.entered) {
    if (HasLeft(state.trial(number))) cut.ranking.push_back(number);
  }
  if (objectives.size() == 1) return cut;
  cut.reference = ReferenceOf(objectives, standings);
  for (size_t i = 0; i < cut.reference.size(); ++i) cut.reference[i] = objectives[i].Key(cut.reference[i]);
  return cut;
}

}  // namespace

std::string Place(const JobState& state, int64_t bracket, int64_t rung) {
  const BracketState& b = state.brackets()[bracket];
  return "bracket " + std::to_string(bracket + 1) + " (s = " + std::to_string(b.plan.s) + "), rung " +
         std::to_string(rung + 1) + " at resource " + std::to_string(b.rungs[rung].resource);
}

bool IsAtTop(const JobState& state, const TrialState& trial) {
  return trial.rung + 1 == static_cast<int64_t>(state.brackets()[trial.bracket].rungs.size());
}

std::optional<RungCut> CutOf(const JobState& state, const TrialState& trial, const PlacesOf& places) {
  const BracketState& bracket = state.brackets()[trial.bracket];
  const RungState& rung = bracket.rungs[trial.rung];
  const auto entered = static_cast<int64_t>(rung.entered.size());
  if (rung.cut || bracket.ended || IsAtTop(state, trial)) return std::nullopt;
  if (entered < bracket.width(trial.rung) || rung.arrived < entered) return std::nullopt;
  if (state.spec().ranks_by_standing()) return CutByStanding(state, trial.bracket, trial.rung, places);

  struct Rank {
    int group;   // 0: may go on, 1: its objective is no finite number, 2: it has left
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
    const int group = HasLeft(t) ? 2 : std::isfinite(value) ? 0 : 1;
    ranks.push_back({group, group == 0 ? sign * value : 0, number, value});
  }
  std::sort(ranks.begin(), ranks.end(), [](const Rank& a, const Rank& b) {
    return std::tie(a.group, a.key, a.number) < std::tie(b.group, b.key, b.number);
  });

  RungCut cut{trial.bracket, trial.rung, rung.resource, {}, 0, std::numeric_limits<double>::quiet_NaN()};
  const int64_t finite =
      std::count_if(ranks.begin(), ranks.end(), [](const Rank& rank) { return rank.group == 0; });
  const int64_t most = places(bracket, trial.rung, finite);
  for (const Rank& rank : ranks) {
    cut.ranking.push_back(rank.number);
    if (rank.group == 0 && cut.promoted < most) {
      ++cut.promoted;
      cut.cutoff = rank.value;
    }
  }
  return cut;
}

std::map<TrialNumber, std::string> StandingTexts(const JobState& state, const RungState& rung) {
  std::map<TrialNumber, std::string> texts;
  for (const RankedTrial& ranked : RankingOf(state.spec().AllObjectives(), StandingsAt(state, rung))) {
    texts[ranked.number] = StandingText(state, state.trial(ranked.number), rung.resource, ranked.front);
  }
  return texts;
}

}  // namespace winnow
