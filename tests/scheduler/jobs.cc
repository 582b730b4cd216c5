#include "tests/scheduler/jobs.h"

#include <cmath>
#include <limits>

#include "scheduler/random.h"

namespace winnow {

SearchSpec HyperbandJob(int64_t max_resource, int64_t reduction_factor, int64_t max_trials) {
  SearchSpec spec;
  spec.parameters = {{"x", ContinuousRange{0, 1, Scaling::kLinear}}};
  spec.objective_metric = "score";
  spec.sampler.kind = SamplerKind::kSobol;
  spec.pruner.kind = PrunerKind::kHyperband;
  spec.pruner.rungs = {1, max_resource, reduction_factor};
  spec.pruner.stop_weak_brackets = false;
  spec.limits.max_trials = max_trials;
  spec.seed = 7;
  return spec;
}

SearchSpec RandomJob(int64_t max_trials, int64_t level) {
  SearchSpec spec = HyperbandJob(0, 3, max_trials);
  spec.sampler.kind = SamplerKind::kRandom;
  spec.pruner.kind = PrunerKind::kNone;
  spec.limits.max_trial_resource = level;
  return spec;
}

Simulation Slots(int workers) {
  Simulation simulation;
  simulation.workers = workers;
  simulation.objective = [](const Configuration& configuration, int64_t resource) {
    return std::get<double>(configuration[0]) + 0.01 * static_cast<double>(resource);
  };
  return simulation;
}

std::string Rungs(const BracketPlan& bracket) {
  std::string text;
  for (const RungPlan& rung : bracket.rungs) {
    text += (text.empty() ? "" : " ") + std::to_string(rung.trials) + "@" + std::to_string(rung.resource);
  }
  return text;
}

AnyJob DrawJob(uint64_t number, int slots) {
  auto draw = [number, index = uint64_t{0}](uint64_t below) mutable {
    return static_cast<int64_t>(RandomBits(number, 0, Purpose::kSimulation, index++) % below);
  };
  AnyJob job;
  SearchSpec& spec = job.spec;
  spec = HyperbandJob(1 + draw(40), 2 + draw(3));
  spec.parameters.push_back({"rounds", IntegerRange{1, 30, Scaling::kLinear}});
  spec.seed = number;
  spec.goal = draw(2) == 0 ? Goal::kMaximize : Goal::kMinimize;
  spec.resumes = draw(4) > 0;
  spec.pruner.rungs.min_resource = 1 + draw(spec.pruner.rungs.max_resource);
  spec.pruner.rungs.min_resource = 1 + draw(spec.pruner.rungs.min_resource);
  const bool random = draw(4) == 0;
  if (random) {
    spec.sampler.kind = SamplerKind::kRandom;
  spec.pruner.kind = PrunerKind::kNone;
    spec.pruner.rungs = {};
    spec.limits.max_trial_resource = 1 + draw(20);
  }
  if (draw(3) == 0) spec.own_end_parameter = 1;
  Limits& limits = spec.limits;
  if (random || draw(2) == 0) limits.max_trials = 1 + draw(60);
  if (draw(3) == 0) limits.max_total_resource = 40 + draw(600);
  limits.max_parallel_trials = draw(3) == 0 ? 1 + draw(8) : 0;
  limits.max_attempts = 1 + draw(3);
  spec.nodes = slots >= 4 && draw(4) == 0 ? 1 + static_cast<int32_t>(draw(4)) : 1;

  Simulation& simulation = job.simulation;
  simulation = Slots(slots);
  simulation.seed = number;
  simulation.own_end = draw(3) == 0 ? 1 + draw(30) : 100;
  if (draw(2) == 0) {
    simulation.failure_rate = 0.1 * static_cast<double>(draw(5));
    simulation.loss_rate = 0.1 * static_cast<double>(draw(4));
    simulation.hand_back_rate = 0.1 * static_cast<double>(draw(3));
  }
  if (draw(8) == 0) simulation.stop_after_seconds = static_cast<double>(1 + draw(200));
  if (draw(8) == 0) {
    simulation.wall_time_seconds = static_cast<double>(1 + draw(200));
    limits.max_wall_time_us = static_cast<int64_t>(simulation.wall_time_seconds * 1e6);
  }
  const int64_t flavour = draw(6);
  simulation.objective = [number, flavour](const Configuration& configuration, int64_t resource) {
    const double x = std::get<double>(configuration[0]);
    const auto level = static_cast<double>(resource);
    if (flavour == 0 && x < 0.5) return std::numeric_limits<double>::quiet_NaN();
    if (flavour == 1) return std::floor(4 * x);  // many ties
    if (flavour == 2 && x < 0.3) return -std::numeric_limits<double>::infinity();
    return x + std::sin(level * x * 7 + static_cast<double>(number));
  };
  return job;
}

}  // namespace winnow
