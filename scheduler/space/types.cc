#include "scheduler/space/types.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace winnow {
namespace {

// At least 1, whatever stands there: a spec that was not checked must not make a gang of nobody.
int32_t Ranks(const Value& value) {
  int64_t ranks = 1;
  if (const auto* integer = std::get_if<int64_t>(&value)) ranks = *integer;
  if (const auto* number = std::get_if<double>(&value)) ranks = std::llround(*number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::from_chars(text->data(), text->data() + text->size(), ranks);
  }
  return static_cast<int32_t>(std::clamp<int64_t>(ranks, 1, kMostNodes));
}

// The fewest and the most ranks among the range's values.
std::pair<int32_t, int32_t> EndsOf(const Range& range) {
  std::vector<int32_t> counts;
  if (const auto* integer = std::get_if<IntegerRange>(&range)) {
    counts = {Ranks(integer->min), Ranks(integer->max)};
  }
  if (const auto* discrete = std::get_if<DiscreteRange>(&range)) {
    for (const double value : discrete->values) counts.push_back(Ranks(value));
  }
  if (const auto* categorical = std::get_if<CategoricalRange>(&range)) {
    for (const std::string& value : categorical->values) counts.push_back(Ranks(value));
  }
  if (counts.empty()) return {1, 1};
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  return {*least, *most};
}

}  // namespace

int32_t SearchSpec::Nodes(const Configuration& configuration) const {
  return nodes_parameter < 0 ? nodes : Ranks(configuration[static_cast<size_t>(nodes_parameter)]);
}

int32_t SearchSpec::LeastNodes() const {
  if (nodes_parameter < 0) return nodes;
  return EndsOf(parameters[static_cast<size_t>(nodes_parameter)].range).first;
}

int32_t SearchSpec::MostNodes() const {
  if (nodes_parameter < 0) return nodes;
  return EndsOf(parameters[static_cast<size_t>(nodes_parameter)].range).second;
}

double MetricConstraint::Violation(double value) const {
  if (std::isnan(value)) return std::numeric_limits<double>::infinity();
  return std::max({0.0, at_least - value, value - at_most});
}

std::vector<Objective> SearchSpec::AllObjectives() const {
  return objectives.empty() ? std::vector<Objective>{{objective_metric, goal, {}}} : objectives;
}

std::vector<std::string> SearchSpec::RankingMetrics() const {
  std::vector<std::string> metrics;
  for (const Objective& objective : AllObjectives()) metrics.push_back(objective.metric);
  for (const MetricConstraint& constraint : metric_constraints) {
    if (std::find(metrics.begin(), metrics.end(), constraint.metric) == metrics.end())
      metrics.push_back(constraint.metric);
  }
  return metrics;
}

int64_t SearchSpec::RankingIndex(const std::string& metric) const {
  const auto objective = std::find_if(objectives.begin(), objectives.end(),
                                      [&metric](const Objective& o) { return o.metric == metric; });
  if (objective != objectives.end()) return objective - objectives.begin();
  if (metric == objective_metric) return 0;
  if (metric_constraints.empty()) return -1;
  const std::vector<std::string> metrics = RankingMetrics();
  const auto found = std::find(metrics.begin(), metrics.end(), metric);
  return found == metrics.end() ? -1 : found - metrics.begin();
}

int64_t SearchSpec::FullResource(const Configuration& configuration) const {
  const int64_t end = OwnEnd(configuration);
  const int64_t most = limits.max_trial_resource;
  if (end <= 0 || most <= 0) return std::max(end, most);
  return std::min(end, most);
}

std::string StrategyText(const SearchSpec& spec) {
  // in the order of SamplerKind
  static constexpr const char* kSamplers[] = {"RANDOM", "SOBOL", "GRID", "GP", "TPE"};
  const std::string sampler = std::string(kSamplers[static_cast<int>(spec.sampler.kind)]) + " sampler";
  if (spec.pruner.kind == PrunerSettings().kind) return sampler + ", every trial trained to its end";
  return sampler + " under the " + TraitsOf(spec.pruner.kind).name + " pruner" +
         (spec.pruner.passes_rungs() ? " in its stopping form" : "");
}

}  // namespace winnow
