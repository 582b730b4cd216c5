#include "tests/scheduler/jobs.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "scheduler/samplers/random.h"
#include "scheduler/space/grid.h"
#include "scheduler/space/random.h"
#include "scheduler/space/space.h"

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

namespace {

constexpr int64_t kMostModelTrials = 20;

using Draw = std::function<int64_t(uint64_t below)>;

// "x" stays the first parameter, and "rounds" the second.
void DrawSpace(SearchSpec& spec, const Draw& draw) {
  const int64_t shape = draw(4);
  spec.parameters.push_back({"rounds", IntegerRange{1, shape == 1 ? 3 : 30, Scaling::kLinear}});
  if (shape == 1) spec.parameters[0].range = DiscreteRange{{0.1, 0.2, 0.5, 0.7}};  // finite
  if (draw(3) == 0) {
    spec.parameters.push_back({"kind", CategoricalRange{{"tree", "line"}}});
    spec.parameters.push_back({"depth", IntegerRange{2, 4}, Condition{2, {std::string("tree")}}});
  }
  if (draw(3) == 0) spec.constraints.push_back({{{0, 1.0}, {1, 0.1}}, 0.0, 2.0});
}

void DrawSampler(SearchSpec& spec, const Draw& draw) {
  if (spec.sampler.kind == SamplerKind::kTpe || spec.sampler.kind == SamplerKind::kGp)
    spec.sampler.startup_trials = draw(5);
  if (spec.sampler.kind != SamplerKind::kGrid) return;
  for (const Parameter& parameter : spec.parameters) {
    if (HasGridPoints(parameter.range)) spec.sampler.grid_points.push_back(1 + draw(6));
  }
  if (GridOf(spec)->size() == 0) spec.constraints.clear();
}

void DrawPruner(SearchSpec& spec, const Draw& draw) {
  PrunerSettings& pruner = spec.pruner;
  if (HasRungs(pruner.kind)) {
    pruner.rungs.min_resource = 1 + draw(pruner.rungs.max_resource);
    pruner.rungs.min_resource = 1 + draw(pruner.rungs.min_resource);
    if (pruner.kind == PrunerKind::kAsha) {
      pruner.asha_form = draw(2) == 0 ? AshaForm::kPromotion : AshaForm::kStopping;
      pruner.asha_brackets = 1 + draw(3);
    }
    if (pruner.kind == PrunerKind::kSuccessiveHalving)
      pruner.bracket_trials = draw(2) == 0 ? 0 : 1 + draw(20);
    pruner.stop_weak_brackets = draw(2) == 0;
    if (pruner.stop_weak_brackets) pruner.weak_bracket_level = 0.1 + 0.2 * static_cast<double>(draw(3));
    if (draw(4) == 0) pruner.min_chance = 0.3;
  } else {
    pruner.rungs = {};
    spec.limits.max_trial_resource = 1 + draw(20);
    if (pruner.kind == PrunerKind::kLearningCurve)
      pruner.min_chance = 0.05 + 0.2 * static_cast<double>(draw(3));
  }
  pruner.warm_up_trials = draw(6);
  pruner.warm_up_resource = draw(3) == 0 ? draw(5) : 0;
}

void DrawLimits(SearchSpec& spec, const Draw& draw, int slots) {
  Limits& limits = spec.limits;
  if (!HasBracketTable(spec.pruner.kind) || draw(2) == 0) limits.max_trials = 1 + draw(60);
  if (AsksModel({spec.sampler.kind, spec.pruner.kind})) limits.max_trials = 1 + draw(kMostModelTrials);
  if (draw(3) == 0) limits.max_total_resource = 40 + draw(600);
  limits.max_parallel_trials = draw(3) == 0 ? 1 + draw(8) : 0;
  limits.max_attempts = 1 + draw(3);
  spec.nodes = slots >= 4 && draw(4) == 0 ? 1 + static_cast<int32_t>(draw(4)) : 1;
  if (draw(6) == 0) spec.completion.target_objective = spec.goal == Goal::kMaximize ? 0.9 : -0.9;
  if (draw(6) == 0) spec.completion.no_improvement_trials = 5 + draw(20);
  if (draw(10) == 0) spec.completion.convergence_tolerance = 0.01;
}

// Up to three configurations of the space, all different.
std::vector<Configuration> DrawConfigurations(const SearchSpec& spec, const Draw& draw) {
  const SearchSpace space(spec.parameters, spec.constraints);
  std::vector<Configuration> drawn;
  for (int64_t i = draw(4); i > 0; --i) {
    Configuration next = RandomConfiguration(spec, space, static_cast<TrialNumber>(draw(1'000'000)));
    if (std::find(drawn.begin(), drawn.end(), next) == drawn.end()) drawn.push_back(std::move(next));
  }
  return drawn;
}

// One that asks no model; pruners with brackets most often.
Strategy DrawStrategy(const Draw& draw) {
  Strategy strategy;
  do {
    strategy.sampler = kSamplers[draw(std::size(kSamplers))];
    strategy.pruner = draw(8) == 0 ? PrunerKind::kHyperband : kPruners[draw(std::size(kPruners))];
  } while (AsksModel(strategy) || !GoTogether(strategy));
  return strategy;
}

// A level of the job is a repeat, which a trainer never ends before, and which needs no checkpoint.
void Repeat(AnyJob& job, const Draw& draw) {
  job.spec.repeats = 2 + draw(4);
  job.spec.limits.max_trial_resource = job.spec.repeats;
  job.spec.limits.max_total_resource = std::min<int64_t>(job.spec.limits.max_total_resource, 200);
  job.spec.objective_value = ObjectiveValue::kMean;
  job.spec.pruner.min_chance = 0.1 * static_cast<double>(draw(5));
  job.spec.resumes = true;
  job.spec.own_end_parameter = -1;
  job.simulation.report_every = 1;
  job.simulation.checkpoint_loss_rate = 0;
}

// A population within the limits and the space, all of whose trials may be trained to the same end.
void Populate(AnyJob& job, const Draw& draw) {
  SearchSpec& spec = job.spec;
  spec.resumes = true;
  spec.own_end_parameter = -1;
  spec.pruner.min_chance = 0;
  if (spec.objective_value == ObjectiveValue::kMean) spec.objective_value = ObjectiveValue::kLast;
  int64_t most = 24;
  if (const int64_t size = SearchSpace(spec.parameters, spec.constraints).size(); size > 0)
    most = std::min(most, size);
  const int64_t least = std::max<int64_t>(2, spec.pruner.rungs.reduction_factor);
  if (most < least) {
    spec.constraints.clear();
    most = least;
  }
  spec.pruner.bracket_trials = least + draw(static_cast<uint64_t>(most - least + 1));
  int64_t& trials = spec.limits.max_trials;
  if (trials > 0) trials = std::max(trials, spec.pruner.bracket_trials);
}

}  // namespace

bool GoTogether(const Strategy& strategy) {
  return strategy.pruner != PrunerKind::kPbt || strategy.sampler == SamplerKind::kRandom ||
         strategy.sampler == SamplerKind::kSobol;
}

bool AsksModel(const Strategy& strategy) {
  return strategy.sampler == SamplerKind::kTpe || strategy.sampler == SamplerKind::kGp ||
         strategy.pruner == PrunerKind::kFreezeThaw;
}

AnyJob DrawJob(uint64_t number, int slots, const std::optional<Strategy>& strategy) {
  const Draw draw = [number, index = uint64_t{0}](uint64_t below) mutable {
    return static_cast<int64_t>(RandomBits(number, 0, Purpose::kSimulation, index++) % below);
  };
  AnyJob job;
  SearchSpec& spec = job.spec;
  spec = HyperbandJob(1 + draw(40), 2 + draw(3));
  spec.seed = number;
  spec.goal = draw(2) == 0 ? Goal::kMaximize : Goal::kMinimize;
  spec.resumes = draw(4) > 0;
  const Strategy drawn = strategy ? *strategy : DrawStrategy(draw);
  spec.sampler.kind = drawn.sampler;
  spec.pruner.kind = drawn.pruner;
  DrawSpace(spec, draw);
  DrawSampler(spec, draw);
  DrawPruner(spec, draw);
  DrawLimits(spec, draw, slots);
  if (draw(3) == 0) spec.own_end_parameter = 1;
  if (draw(3) == 0) spec.initial = DrawConfigurations(spec, draw);

  Simulation& simulation = job.simulation;
  simulation = Slots(slots);
  simulation.seed = number;
  simulation.own_end = draw(3) == 0 ? 1 + draw(30) : 100;
  simulation.report_every = draw(4) == 0 ? 1 + draw(5) : 1;
  if (draw(2) == 0) {
    simulation.failure_rate = 0.1 * static_cast<double>(draw(5));
    simulation.loss_rate = 0.1 * static_cast<double>(draw(4));
    simulation.hand_back_rate = 0.1 * static_cast<double>(draw(3));
    simulation.checkpoint_loss_rate = 0.1 * static_cast<double>(draw(3));
  }
  if (draw(3) == 0) {
    simulation.slow_trials = 0.1 * static_cast<double>(draw(4));
    simulation.slow_workers = 0.1 * static_cast<double>(draw(4));
  }
  if (draw(8) == 0) simulation.stop_after_seconds = static_cast<double>(1 + draw(200));
  if (draw(8) == 0) {
    simulation.wall_time_seconds = static_cast<double>(1 + draw(200));
    spec.limits.max_wall_time_us = static_cast<int64_t>(simulation.wall_time_seconds * 1e6);
  }
  const int64_t flavour = draw(6);
  simulation.objective = [number, flavour](const Configuration& configuration, int64_t resource) {
    const double x = std::get<double>(configuration[0]);
    const auto level = static_cast<double>(resource);
    if (flavour == 0 && x < 0.5) return std::numeric_limits<double>::quiet_NaN();
    if (flavour == 1) return std::floor(4 * x);  // many ties
    if (flavour == 2 && x < 0.3) return -std::numeric_limits<double>::infinity();
    if (flavour == 3) return x - 1 / std::sqrt(level);  // learning curves
    return x + std::sin(level * x * 7 + static_cast<double>(number));
  };
  if (draw(3) == 0) {
    for (Configuration& earlier : DrawConfigurations(spec, draw)) {
      const double value = simulation.objective(earlier, 9);
      simulation.earlier.push_back({std::move(earlier), value, draw(2) == 0 ? 0 : 9, "an earlier job"});
    }
  }
  if (draw(2) == 0) spec.limits.max_first_failures = 1 + draw(3);
  if (spec.sampler.kind != SamplerKind::kGrid && draw(4) == 0) {
    const Configuration believed =
        SearchSpace(spec.parameters).FromUnit(std::vector(spec.parameters.size(), 0.3));
    for (size_t i = 0; i < believed.size(); ++i) {
      if (std::holds_alternative<Inactive>(believed[i]) || draw(2) == 0) continue;
      spec.parameters[i].prior = Prior{believed[i], static_cast<Confidence>(draw(3))};
    }
  }
  if (draw(2) == 0) spec.objective_value = draw(2) == 0 ? ObjectiveValue::kLast : ObjectiveValue::kMean;
  if (spec.pruner.kind == PrunerKind::kPairedTest) Repeat(job, draw);
  if (spec.pruner.kind == PrunerKind::kPbt) Populate(job, draw);
  return job;
}

namespace {

constexpr SamplerKind kFrontSamplers[] = {SamplerKind::kRandom, SamplerKind::kSobol, SamplerKind::kGrid};
constexpr PrunerKind kFrontPruners[] = {PrunerKind::kNone,
                                        PrunerKind::kMedian,
                                        PrunerKind::kHyperband,
                                        PrunerKind::kAsha,
                                        PrunerKind::kSuccessiveHalving,
                                        PrunerKind::kPbt};

// Leaves out what jobs with objectives or constraints do not take.
void AddObjectives(SearchSpec& spec, const Draw& draw) {
  spec.pruner.stop_weak_brackets = false;
  const int64_t count = draw(4) == 0 ? 1 : 2 + draw(3);
  const bool thresholds = draw(3) == 0;
  if (count > 1) {
    spec.pruner.min_chance = 0;
    spec.objective_value = ObjectiveValue::kLast;
    spec.completion.target_objective.reset();
    spec.completion.convergence_tolerance = 0;
    for (int64_t i = 0; i < count; ++i) {
      Objective objective{"m" + std::to_string(i), draw(2) == 0 ? Goal::kMaximize : Goal::kMinimize, {}};
      if (thresholds || draw(8) == 0) objective.threshold = objective.Key(1) * static_cast<double>(draw(3));
      spec.objectives.push_back(std::move(objective));
    }
    spec.objective_metric = spec.objectives[0].metric;
    spec.goal = spec.objectives[0].goal;
    if (!thresholds) spec.completion.no_improvement_trials = 0;
    if (thresholds && draw(3) == 0) spec.completion.target_hypervolume = 0.5;
  }
  for (int64_t i = count > 1 ? draw(3) : 1 + draw(2); i > 0; --i) {
    MetricConstraint constraint;
    constraint.metric = draw(2) == 0 ? spec.objective_metric : "c" + std::to_string(draw(2));
    (draw(2) == 0 ? constraint.at_most : constraint.at_least) = 0.25 * static_cast<double>(draw(4));
    for (const MetricConstraint& other : spec.metric_constraints) {
      if (other.metric != constraint.metric) continue;
      // Bounds that no value can meet are refused.
      if (constraint.at_least > other.at_most) constraint.at_least = other.at_most;
      if (constraint.at_most < other.at_least) constraint.at_most = other.at_least;
    }
    spec.metric_constraints.push_back(std::move(constraint));
  }
}

}  // namespace

AnyJob DrawFrontJob(uint64_t number, int slots, const std::optional<Strategy>& strategy) {
  const Draw draw = [number, index = uint64_t{0}](uint64_t below) mutable {
    return static_cast<int64_t>(RandomBits(number, 1, Purpose::kSimulation, index++) % below);
  };
  Strategy drawn;
  do {
    drawn = {kFrontSamplers[draw(std::size(kFrontSamplers))], kFrontPruners[draw(std::size(kFrontPruners))]};
  } while (!GoTogether(drawn));
  AnyJob job = DrawJob(number, slots, strategy ? *strategy : drawn);
  AddObjectives(job.spec, draw);
  job.simulation.earlier.clear();
  // Some metrics come with every report, some only at some levels, and some are not numbers.
  const int64_t flavour = draw(5), every = 1 + draw(4);
  const auto objectives = static_cast<int64_t>(job.spec.objective_count());
  job.simulation.further = [=](const Configuration& configuration, int64_t level,
                               int64_t metric) -> std::optional<double> {
    const double x = std::get<double>(configuration[0]);
    if (metric >= objectives && level % every != 0) return std::nullopt;
    if (flavour == 0 && metric >= objectives && x > 0.8) return std::numeric_limits<double>::quiet_NaN();
    if (flavour == 1 && metric == 1 && x > 0.95) return std::numeric_limits<double>::infinity();
    if (flavour == 2) return std::floor(5 * x * static_cast<double>(metric)) / 5;  // many ties
    return std::sin(static_cast<double>(metric) * (1 + 6 * x)) + 0.02 * static_cast<double>(level);
  };
  return job;
}

}  // namespace winnow
