#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/space/grid.h"
#include "scheduler/space/range_change.h"
#include "scheduler/state/job_state.h"

namespace winnow {
namespace {

// The least of those that are not 0.
int64_t Least(std::initializer_list<int64_t> limits) {
  int64_t least = 0;
  for (int64_t limit : limits) least = least == 0 ? limit : limit == 0 ? least : std::min(least, limit);
  return least;
}

}  // namespace

SearchSpec WithLimits(SearchSpec spec, const LimitsChanged& changed) {
  Limits& limits = spec.limits;
  limits.max_trials = changed.max_trials;
  limits.max_parallel_trials = changed.max_parallel_trials;
  limits.max_total_resource = changed.max_total_resource;
  limits.max_wall_time_us = changed.max_wall_time_us;
  limits.max_node_time_us = changed.max_node_time_us;
  limits.max_cost = changed.max_cost;
  return spec;
}

Search::Search(SearchSpec of)
    : spec(std::move(of)),
      metrics(spec.RankingMetrics()),
      space(spec.parameters, spec.constraints),
      grid(spec.sampler.kind == SamplerKind::kGrid ? GridOf(spec) : nullptr) {
  PlanBrackets();
}

void Search::PlanBrackets() {
  const int64_t size = space.size() > 0 ? space.size() + tried_elsewhere : 0;
  most_trials = Least({spec.limits.max_trials, size, grid == nullptr ? 0 : GridTrials(spec, *grid)});
  if (HasBracketTable(spec.pruner.kind)) table = HyperbandTable(spec, most_trials);
}

void Search::ChangeLimits(const LimitsChanged& changed) {
  spec = WithLimits(std::move(spec), changed);
  PlanBrackets();
}

std::optional<Range> ChangedRange(const SearchSpec& spec, const RangeChanged& changed) {
  for (const Parameter& parameter : spec.parameters) {
    if (parameter.name != changed.parameter) continue;
    if (IsListed(parameter.range) != changed.listed) return std::nullopt;
    return WithValues(parameter.range, changed.values);
  }
  return std::nullopt;
}

void Search::ChangeRange(const RangeChanged& changed, const std::vector<TrialState>& trials) {
  const Range range = *ChangedRange(spec, changed);
  std::vector<Parameter> known = known_space ? known_space->parameters() : spec.parameters;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i].name != changed.parameter) continue;
    known[i].range = Joined(known[i].range, range);
    spec.parameters[i].range = range;
    std::optional<Prior>& prior = spec.parameters[i].prior;
    if (prior && !Contains(range, prior->value)) prior.reset();
    known[i].prior = prior;
  }
  known_space.emplace(std::move(known));
  space = SearchSpace(spec.parameters, spec.constraints);
  tried.clear();
  tried_elsewhere = 0;
  if (space.size() > 0) {
    for (const TrialState& trial : trials) {
      if (space.Holds(trial.configuration)) tried.insert(trial.configuration);
    }
    tried_elsewhere = static_cast<int64_t>(trials.size() - tried.size());
  }
  PlanBrackets();
}

}  // namespace winnow
