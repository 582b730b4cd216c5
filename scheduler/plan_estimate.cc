#include "scheduler/plan_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/plan.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "scheduler/space/space.h"
#include "scheduler/state/startup.h"

namespace winnow {
namespace {

// What is simulated at most: reports and trials. About 50 ms of work.
constexpr int64_t kMostReports = 20'000;
constexpr int64_t kMostSimulated = 2'000;
constexpr int kMostSlots = 512;

// A quality of its own for every configuration, approached as 1 / sqrt(level).
double MadeUpValue(const Configuration& configuration, int64_t level) {
  uint64_t seed = 0;
  for (const Value& value : configuration) {
    for (const char c : ValueToString(value)) seed = RandomBits(seed, c, Purpose::kSimulation, 0);
  }
  const double quality = RandomUnit(seed, 1, Purpose::kSimulation, 1);
  const double depth = RandomUnit(seed, 1, Purpose::kSimulation, 2);
  return quality - depth / std::sqrt(static_cast<double>(level));
}

// The same job without models and times, of at most `trials` trials, where a part's start-up costs so many
// units.
SearchSpec Simulated(SearchSpec spec, int64_t trials, double startup) {
  if (spec.sampler.kind == SamplerKind::kGp || spec.sampler.kind == SamplerKind::kTpe) {
    spec.sampler.kind = SamplerKind::kSobol;
  }
  if (const PrunerKind kind = spec.pruner.without_model(); kind != spec.pruner.kind) {
    spec.pruner.kind = kind;
    RungSettings& rungs = spec.pruner.rungs;
    while (rungs.min_resource < rungs.max_resource && static_cast<double>(rungs.min_resource) < startup)
      rungs.min_resource = std::min(rungs.max_resource, rungs.min_resource * rungs.reduction_factor);
  }
  spec.completion = {};
  // Synthetic curves have one objective.
  spec.objectives.clear();
  spec.metric_constraints.clear();
  spec.limits.max_wall_time_us = spec.limits.max_node_time_us = 0;
  spec.limits.max_trials = trials;
  return spec;
}

// The least of those that are not 0.
double Least(double a, double b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace

PlanEstimate EstimatePlan(const SearchSpec& spec, int slots, double unit_seconds, double startup_seconds) {
  if (slots < spec.MostNodes() || !(unit_seconds > 0)) return {};
  const Limits& limits = spec.limits;
  const double wall = static_cast<double>(limits.max_wall_time_us) / 1e6;
  const double node_time = static_cast<double>(limits.max_node_time_us) / 1e6;
  const bool known_end = HasRungs(spec.pruner.kind) || limits.max_trial_resource > 0 || spec.own_end > 0 ||
                         spec.own_end_parameter >= 0;
  if (!known_end) return {wall, 0};

  const int64_t trials = MakePlan(spec).trials;
  const SearchSpec simulated = Simulated(
      spec, trials == 0 ? kMostSimulated : std::min(trials, kMostSimulated),
      Startup::Units(startup_seconds, unit_seconds, spec.pruner.rungs.max_resource, limits.time_alone()));
  Simulation simulation;
  simulation.workers = std::max(spec.MostNodes(), std::min(slots, kMostSlots));
  simulation.start_seconds = startup_seconds / unit_seconds;
  simulation.jitter = 0;
  simulation.report_every = std::max<int64_t>(1, MakePlan(simulated).resource / kMostReports);
  simulation.own_end = spec.own_end > 0 ? spec.own_end : std::numeric_limits<int64_t>::max() / 2;
  simulation.objective = MadeUpValue;
  const SimulationResult result = Simulate(simulated, simulation);
  const double all = result.busy_slot_seconds + result.idle_slot_seconds;
  if (all <= 0) return {wall, 0};

  // The rest of a longer job goes at the pace of the simulated part.
  const auto trained = static_cast<double>(std::max<int64_t>(1, result.state.totals().resource));
  const double by_trials = trials > kMostSimulated ? static_cast<double>(trials) / kMostSimulated : 0;
  const double by_resource = std::max(1.0, static_cast<double>(limits.max_total_resource) / trained);
  double longer = 1;
  if (trials > kMostSimulated)
    longer = limits.max_total_resource > 0 ? std::min(by_trials, by_resource) : by_trials;
  if (trials == 0) longer = limits.max_total_resource > 0 ? by_resource : 0;
  const double more_slots = slots > simulation.workers ? static_cast<double>(simulation.workers) / slots : 1;

  PlanEstimate estimate;
  estimate.busy_fraction = result.busy_slot_seconds / all;
  if (result.busy_slot_seconds > 0)
    estimate.startup_fraction = result.startup_slot_seconds / result.busy_slot_seconds;
  estimate.elapsed_seconds = result.elapsed_seconds * longer * more_slots * unit_seconds;
  estimate.elapsed_seconds = Least(estimate.elapsed_seconds, wall);
  estimate.elapsed_seconds = Least(estimate.elapsed_seconds, node_time / (slots * estimate.busy_fraction));
  return estimate;
}

}  // namespace winnow
