#include "spec/search_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/space/grid.h"
#include "scheduler/space/space.h"
#include "spec/builtin_trainers.h"
#include "spec/initial_configurations.h"
#include "spec/strategy.h"
#include "spec/values.h"

namespace winnow {
namespace {

constexpr double kMicros = 1e6;  // per second

Scaling ToScaling(v1::Scaling scaling) {
  switch (scaling) {
    case v1::LOG:
      return Scaling::kLog;
    case v1::REVERSE_LOG:
      return Scaling::kReverseLog;
    default:
      return Scaling::kLinear;
  }
}

int IndexOf(const SearchSpec& search, const std::string& name) {
  const auto found = std::find_if(search.parameters.begin(), search.parameters.end(),
                                  [&name](const Parameter& p) { return p.name == name; });
  return found == search.parameters.end() ? -1 : static_cast<int>(found - search.parameters.begin());
}

void SetConditions(const v1::TuningJobSpec& spec, SearchSpec& search) {
  for (int i = 0; i < spec.parameters_size(); ++i) {
    if (!spec.parameters(i).has_condition()) continue;
    const v1::Condition& given = spec.parameters(i).condition();
    const int parent = IndexOf(search, given.parameter());
    if (parent < 0) continue;
    Condition condition{parent, {}};
    for (const std::string& text : given.values()) {
      if (auto value = ReadValue(search.parameters[static_cast<size_t>(parent)].range, text)) {
        condition.values.push_back(*std::move(value));
      }
    }
    search.parameters[static_cast<size_t>(i)].condition = std::move(condition);
  }
}

Confidence ToConfidence(v1::ParameterPrior::Confidence confidence) {
  switch (confidence) {
    case v1::ParameterPrior::LOW:
      return Confidence::kLow;
    case v1::ParameterPrior::HIGH:
      return Confidence::kHigh;
    default:
      return Confidence::kMedium;
  }
}

void SetPriors(const v1::TuningJobSpec& spec, SearchSpec& search) {
  for (int i = 0; i < spec.parameters_size(); ++i) {
    const v1::ParameterPrior& given = spec.parameters(i).prior();
    Parameter& parameter = search.parameters[static_cast<size_t>(i)];
    if (!spec.parameters(i).has_prior()) continue;
    if (auto value = ReadValue(parameter.range, given.value())) {
      parameter.prior = Prior{*std::move(value), ToConfidence(given.confidence())};
    }
  }
}

void SetConstraints(const v1::TuningJobSpec& spec, SearchSpec& search) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  for (const v1::LinearConstraint& given : spec.constraints()) {
    LinearConstraint constraint{
        {}, given.has_min() ? given.min() : -kNone, given.has_max() ? given.max() : kNone};
    for (const auto& [name, coefficient] : given.coefficients()) {
      if (const int index = IndexOf(search, name); index >= 0)
        constraint.terms.emplace_back(index, coefficient);
    }
    std::sort(constraint.terms.begin(), constraint.terms.end());  // maps have no order
    search.constraints.push_back(std::move(constraint));
  }
}

// A number for each range that is continuous or has many integers, as SamplerSettings counts them.
std::vector<int64_t> GridPoints(const v1::TuningJobSpec& spec, const SearchSpec& search) {
  const auto& given = spec.sampler().grid_points();
  if (given.empty()) return {};
  std::vector<int64_t> points;
  for (const Parameter& parameter : search.parameters) {
    if (!TakesGridPoints(parameter.range)) continue;
    const auto found = given.find(parameter.name);
    points.push_back(found == given.end() ? 0 : found->second);
  }
  return points;
}

ObjectiveValue ToObjectiveValue(v1::ObjectiveSpec::Value value) {
  if (value == v1::ObjectiveSpec::LAST) return ObjectiveValue::kLast;
  return value == v1::ObjectiveSpec::MEAN ? ObjectiveValue::kMean : ObjectiveValue::kBest;
}

Goal ToGoal(v1::Goal goal) { return goal == v1::MINIMIZE ? Goal::kMinimize : Goal::kMaximize; }

void SetObjectives(const v1::TuningJobSpec& spec, SearchSpec& search) {
  search.objective_metric = spec.objective().metric();
  search.goal = ToGoal(spec.objective().goal());
  search.objective_value = ToObjectiveValue(spec.objective().value());
  for (const v1::ObjectivesEntry& given : spec.objectives()) {
    Objective& objective = search.objectives.emplace_back();
    objective.metric = given.metric();
    objective.goal = ToGoal(given.goal());
    if (given.has_threshold()) objective.threshold = given.threshold();
  }
  if (!search.objectives.empty()) {
    search.objective_metric = search.objectives[0].metric;
    search.goal = search.objectives[0].goal;
    search.objective_value = ObjectiveValue::kLast;
  }
  for (const v1::MetricConstraint& given : spec.metric_constraints()) {
    MetricConstraint& constraint = search.metric_constraints.emplace_back();
    constraint.metric = given.metric();
    if (given.has_at_most()) constraint.at_most = given.at_most();
    if (given.has_at_least()) constraint.at_least = given.at_least();
  }
}

void SetLimits(const v1::TuningJobSpec& spec, SearchSpec& search) {
  const v1::LimitsSpec& limits = spec.limits();
  search.limits.max_trials = limits.max_trials();
  search.limits.max_total_resource = limits.max_total_resource();
  // Rounded up, so that the shortest limit is still one.
  search.limits.max_wall_time_us =
      limits.max_wall_time().seconds() * 1'000'000 + (limits.max_wall_time().nanos() + 999) / 1000;
  if (limits.max_node_seconds() > 0) {
    search.limits.max_node_time_us =
        static_cast<int64_t>(std::ceil(std::min(limits.max_node_seconds(), kMostNodeSeconds) * kMicros));
  }
  search.limits.max_cost = limits.max_cost();
  search.limits.max_parallel_trials = limits.max_parallel_trials();
  // Under a pruner with rungs it is R, said once or twice.
  const bool is_r =
      HasRungs(search.pruner.kind) && limits.max_trial_resource() == search.pruner.rungs.max_resource;
  search.limits.max_trial_resource = is_r ? 0 : limits.max_trial_resource();
  if (search.repeats > 0 && !HasRungs(search.pruner.kind)) search.limits.max_trial_resource = search.repeats;
  search.limits.max_attempts = OrDefault(limits.max_attempts(), search.limits.max_attempts);
  search.limits.max_lost_attempts = OrDefault(limits.max_lost_attempts(), search.limits.max_lost_attempts);
  search.limits.max_first_failures = limits.max_first_failures();
}

void SetCompletion(const v1::CompletionSpec& given, Completion& completion) {
  if (given.has_target_objective()) completion.target_objective = given.target_objective();
  completion.no_improvement_trials = given.no_improvement_trials();
  if (given.has_no_improvement_tolerance())
    completion.no_improvement_tolerance = given.no_improvement_tolerance();
  completion.convergence_tolerance = given.convergence_tolerance();
  if (given.has_target_hypervolume()) completion.target_hypervolume = given.target_hypervolume();
}

// With repeats the trainer's own end is that of a repeat, which is one unit.
void SetOwnEnd(const v1::TuningJobSpec& spec, SearchSpec& search) {
  if (search.repeats > 0) return;
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return;
  search.own_end = FixedEndOf(spec);
  int tuned = -1;
  for (const Parameter& parameter : search.parameters) {
    if (trainer->FirstName(parameter.name) == trainer->resource_parameter)
      tuned = IndexOf(search, parameter.name);
  }
  if (tuned >= 0 &&
      std::holds_alternative<IntegerRange>(search.parameters[static_cast<size_t>(tuned)].range)) {
    search.own_end_parameter = tuned;
  }
}

}  // namespace

Range ToRange(const v1::ParameterSpec& parameter) {
  switch (parameter.range_case()) {
    case v1::ParameterSpec::kContinuous: {
      const v1::ContinuousRange& range = parameter.continuous();
      return ContinuousRange{range.min(), range.max(), ToScaling(range.scaling())};
    }
    case v1::ParameterSpec::kCategorical: {
      const auto& values = parameter.categorical().values();
      return CategoricalRange{{values.begin(), values.end()}, parameter.categorical().ordered()};
    }
    case v1::ParameterSpec::kDiscrete: {
      const auto& values = parameter.discrete().values();
      return DiscreteRange{{values.begin(), values.end()}};
    }
    default: {
      const v1::IntegerRange& range = parameter.integer();
      return IntegerRange{range.min(), range.max(), ToScaling(range.scaling())};
    }
  }
}

void WriteRange(const Range& range, v1::ParameterSpec& parameter) {
  const auto write_ends = [](const auto& ends, auto& message) {
    message.set_min(ends.min);
    message.set_max(ends.max);
    message.set_scaling(static_cast<v1::Scaling>(ends.scaling));
  };
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    write_ends(*integer, *parameter.mutable_integer());
  } else if (const auto* real = std::get_if<ContinuousRange>(&range)) {
    write_ends(*real, *parameter.mutable_continuous());
  } else if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    parameter.mutable_discrete()->mutable_values()->Assign(discrete->values.begin(), discrete->values.end());
  } else {
    const auto& categorical = std::get<CategoricalRange>(range);
    parameter.mutable_categorical()->mutable_values()->Assign(categorical.values.begin(),
                                                              categorical.values.end());
    parameter.mutable_categorical()->set_ordered(categorical.ordered);
  }
}

bool TakesGridPoints(const Range& range) {
  return std::holds_alternative<ContinuousRange>(range) ||
         (std::holds_alternative<IntegerRange>(range) &&
          (ValueCount(range) == 0 || ValueCount(range) > kDefaultGridPoints));
}

SearchSpec ToSearchSpec(const v1::TuningJobSpec& spec) {
  SearchSpec search;
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    search.parameters.push_back({parameter.name(), ToRange(parameter), {}});
  }
  SetConditions(spec, search);
  SetPriors(spec, search);
  SetConstraints(spec, search);
  SetObjectives(spec, search);
  search.repeats = RepeatsOf(spec);
  if (search.repeats > 0) search.objective_value = ObjectiveValue::kMean;
  const Strategy strategy = StrategyOf(spec);
  search.sampler = strategy.sampler;
  search.sampler.grid_points = GridPoints(spec, search);
  search.pruner = strategy.pruner;
  // The rule compares brackets by one number.
  if (search.ranks_by_standing()) search.pruner.stop_weak_brackets = false;
  SetLimits(spec, search);
  SetCompletion(spec.completion(), search.completion);
  search.nodes = static_cast<int32_t>(OrDefault(spec.cluster().nodes(), 1));
  if (const std::string& name = spec.cluster().nodes_parameter(); !name.empty())
    search.nodes_parameter = IndexOf(search, name);
  search.seed = spec.seed();
  // Repeats that are done need not be done again, whatever the trainer can.
  search.resumes = search.repeats > 0 || !spec.trainer().has_resumes() || spec.trainer().resumes();
  search.suspends = !search.resumes && spec.trainer().warm() == v1::TrainerSpec::SUSPEND;
  SetOwnEnd(spec, search);
  search.initial = InitialConfigurations(spec, search);
  return search;
}

}  // namespace winnow
