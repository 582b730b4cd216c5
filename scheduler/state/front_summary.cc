#include "scheduler/state/front_summary.h"

#include <algorithm>
#include <utility>

#include "scheduler/models/hypervolume.h"

namespace winnow {
namespace {

// Adds the point to the front, unless a member is as good; false: it was not added.
bool AddTo(std::vector<ObjectivePoint>& front, const ObjectivePoint& point) {
  const auto as_good = [&point](const ObjectivePoint& other) {
    return other == point || Dominates(other, point);
  };
  if (std::any_of(front.begin(), front.end(), as_good)) return false;
  std::erase_if(front, [&point](const ObjectivePoint& other) { return Dominates(point, other); });
  front.push_back(point);
  return true;
}

std::vector<FrontSummary::Step> HistoryOf(const JobState& state, const ObjectivePoint& reference) {
  std::vector<const TrialState*> ended;
  for (const TrialState& trial : state.trials()) {
    if (trial.ended()) ended.push_back(&trial);
  }
  std::sort(ended.begin(), ended.end(), [](const TrialState* a, const TrialState* b) {
    return std::pair(a->ended_us, a->number) < std::pair(b->ended_us, b->number);
  });
  std::vector<FrontSummary::Step> history;
  std::vector<ObjectivePoint> front;
  double hypervolume = 0;
  int64_t resource = 0;
  for (const TrialState* trial : ended) {
    resource += trial->trained_resource;
    const Standing standing = FinalStanding(state.spec(), *trial);
    if (!TakesPart(*trial, standing)) continue;
    const double own = OwnHypervolume(standing.keys, front, reference);
    if (!AddTo(front, standing.keys) || own <= 0) continue;
    hypervolume += own;
    history.push_back({trial->number, trial->ended_us, resource, hypervolume});
  }
  return history;
}

void Thin(std::vector<FrontSummary::Step>& history, size_t most) {
  if (history.size() <= most) return;
  std::vector<FrontSummary::Step> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(history[i * (history.size() - 1) / (most - 1)]);
  history = std::move(kept);
}

}  // namespace

FrontSummary SummaryOf(const JobState& state, size_t most_steps) {
  const std::vector<Objective>& objectives = state.spec().objectives;
  const auto values_of = [&objectives](ObjectivePoint point) {
    for (size_t i = 0; i < point.size(); ++i) point[i] = objectives[i].Key(point[i]);
    return point;
  };
  FrontSummary summary;
  std::vector<Standing> standings;
  for (const TrialState& trial : state.trials()) {
    Standing standing = FinalStanding(state.spec(), trial);
    if (trial.ended() && trial.phase != TrialPhase::kFailed && !standing.feasible()) ++summary.infeasible;
    if (TakesPart(trial, standing)) standings.push_back(std::move(standing));
  }
  const ObjectivePoint reference = ReferenceOf(objectives, standings);
  if (reference.empty()) return summary;
  std::vector<ObjectivePoint> front;
  for (const Standing& member : state.front()) front.push_back(member.keys);
  summary.reference = values_of(reference);
  summary.hypervolume = Hypervolume(front, reference);
  for (size_t i = 0; i < front.size(); ++i) {
    std::vector<ObjectivePoint> others = front;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    summary.members.push_back(
        {state.front()[i].number, values_of(front[i]), OwnHypervolume(front[i], others, reference)});
  }
  std::sort(summary.members.begin(), summary.members.end(), [&](const auto& a, const auto& b) {
    return std::pair(objectives[0].Key(a.values[0]), a.number) <
           std::pair(objectives[0].Key(b.values[0]), b.number);
  });
  summary.history = HistoryOf(state, reference);
  Thin(summary.history, most_steps);
  return summary;
}

}  // namespace winnow
