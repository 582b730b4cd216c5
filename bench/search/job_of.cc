#include "bench/search/job_of.h"

#include <string>
#include <utility>

namespace winnow {
namespace {

Parameter ToParameter(const FamilyParameter& from) {
  const Scaling scaling = from.log ? Scaling::kLog : Scaling::kLinear;
  switch (from.kind) {
    case FamilyKind::kInteger:
      return {from.name,
              IntegerRange{static_cast<int64_t>(from.min), static_cast<int64_t>(from.max), scaling}};
    case FamilyKind::kContinuous:
      return {from.name, ContinuousRange{from.min, from.max, scaling}};
    case FamilyKind::kCategorical:
      break;
  }
  CategoricalRange range;
  for (int value = 0; value <= static_cast<int>(from.max); ++value)
    range.values.push_back(std::to_string(value));
  return {from.name, std::move(range)};
}

}  // namespace

SearchSpec JobOf(const Family& family, const Pair& strategy, uint64_t seed) {
  SearchSpec spec;
  for (const FamilyParameter& parameter : family.parameters())
    spec.parameters.push_back(ToParameter(parameter));
  spec.objective_metric = "value";
  spec.sampler.kind = strategy.sampler;
  spec.pruner.kind = strategy.pruner;
  spec.pruner.rungs.max_resource = family.max_resource();
  spec.limits.max_trial_resource = HasRungs(strategy.pruner) ? 0 : family.max_resource();
  spec.seed = seed;
  return spec;
}

}  // namespace winnow
