#include "spec/search_spec.h"

#include <charconv>

#include "spec/builtin_trainers.h"

namespace winnow {
namespace {

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

int64_t OrDefault(int64_t value, int64_t otherwise) { return value == 0 ? otherwise : value; }

void SetOwnEnd(const v1::TuningJobSpec& spec, SearchSpec& search) {
  const BuiltinTrainer* trainer = FindBuiltinTrainer(spec.trainer().builtin());
  if (trainer == nullptr) return;
  search.own_end = trainer->default_resource;
  for (size_t i = 0; i < search.parameters.size(); ++i) {
    const Parameter& parameter = search.parameters[i];
    if (parameter.name != trainer->resource_parameter) continue;
    if (std::holds_alternative<IntegerRange>(parameter.range)) search.own_end_parameter = static_cast<int>(i);
  }
  const auto given = spec.static_hyperparameters().find(trainer->resource_parameter);
  if (given != spec.static_hyperparameters().end()) {
    double rounds = 0;  // "1e2" is a whole number too
    const std::string& text = given->second;
    std::from_chars(text.data(), text.data() + text.size(), rounds);
    search.own_end = rounds >= 1 && rounds < 1e15 ? static_cast<int64_t>(rounds) : 0;
  }
}

}  // namespace

SearchSpec ToSearchSpec(const v1::TuningJobSpec& spec) {
  SearchSpec search;
  for (const v1::ParameterSpec& parameter : spec.parameters()) {
    search.parameters.push_back({parameter.name(), ToRange(parameter), {}});
  }
  search.objective_metric = spec.objective().metric();
  search.goal = spec.objective().goal() == v1::MINIMIZE ? Goal::kMinimize : Goal::kMaximize;
  const bool hyperband = spec.strategy() == v1::HYPERBAND ||
                         (spec.strategy() == v1::STRATEGY_UNSPECIFIED && spec.has_hyperband());
  search.sampler.kind = hyperband ? SamplerKind::kSobol : SamplerKind::kRandom;
  search.pruner.kind = hyperband ? PrunerKind::kHyperband : PrunerKind::kNone;
  search.pruner.rungs.min_resource = OrDefault(spec.hyperband().min_resource(), 1);
  search.pruner.rungs.max_resource = spec.hyperband().max_resource();
  search.pruner.rungs.reduction_factor = OrDefault(spec.hyperband().reduction_factor(), 3);

  const v1::LimitsSpec& limits = spec.limits();
  search.limits.max_trials = limits.max_trials();
  search.limits.max_total_resource = limits.max_total_resource();
  // Rounded up, so that the shortest limit is still one.
  search.limits.max_wall_time_us =
      limits.max_wall_time().seconds() * 1'000'000 + (limits.max_wall_time().nanos() + 999) / 1000;
  search.limits.max_parallel_trials = limits.max_parallel_trials();
  search.limits.max_trial_resource = limits.max_trial_resource();
  search.limits.max_attempts = OrDefault(limits.max_attempts(), 1);
  search.nodes = static_cast<int32_t>(OrDefault(spec.cluster().nodes(), 1));
  search.seed = spec.seed();
  search.resumes = !spec.trainer().has_resumes() || spec.trainer().resumes();
  SetOwnEnd(spec, search);
  return search;
}

}  // namespace winnow
