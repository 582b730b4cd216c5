#include "scheduler/validate.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

std::string Fields(const SearchSpec& spec) {
  std::string fields;
  for (const Violation& violation : ValidateSearch(spec)) fields += violation.field + " ";
  return fields;
}

std::string SearchErrors(const SearchSpec& spec) {
  std::string text;
  for (const Violation& violation : ValidateSearch(spec)) {
    text += violation.field + ": " + violation.description + "\n";
  }
  return text;
}

TEST_CASE("Validate: a range of one value and one of all integers are valid", "[scheduler]") {
  SearchSpec spec = HyperbandJob(81, 3);
  spec.parameters = {{"a", IntegerRange{5, 5, Scaling::kLog}},
                     {"b", ContinuousRange{0, 0, Scaling::kReverseLog}},
                     {"c", IntegerRange{INT64_MIN, INT64_MAX, Scaling::kLinear}},
                     {"d", CategoricalRange{{""}}}};
  CHECK(Fields(spec) == "");
}

TEST_CASE("Validate: everything wrong is listed at once", "[scheduler]") {
  SearchSpec spec = HyperbandJob(0, 1);
  spec.parameters = {{"a", IntegerRange{2, 1, Scaling::kReverseLog}}, {"a", CategoricalRange{{"x", "x"}}}};
  spec.objective_metric = "";
  spec.limits = {-1, -1, -1, -1, -1, -1, -1, 0};
  spec.nodes = 0;
  spec.seed = UINT64_MAX;
  CHECK(Fields(spec) ==
        "parameters[0].integer.min parameters[1].name "
        "parameters[1].categorical.values[1] objective.metric pruner.max_resource "
        "pruner.reduction_factor "
        "limits.max_trial_resource limits.max_trials limits.max_total_resource limits.max_parallel_trials "
        "limits.max_trial_resource limits.max_wall_time limits.max_node_seconds limits.max_cost "
        "limits.max_attempts "
        "cluster.nodes seed ");
}

TEST_CASE("Validate: settings of samplers, pruners and completion have bounds", "[scheduler]") {
  SearchSpec spec = RandomJob(9, 5);
  spec.sampler = {SamplerKind::kGrid, -1, {-2, 3}};
  spec.pruner.kind = PrunerKind::kAsha;
  spec.limits.max_trial_resource = 0;
  spec.pruner.rungs = {1, 9, 3};
  spec.pruner.asha_brackets = 0;
  spec.pruner.bracket_trials = -1;
  spec.pruner.weak_bracket_level = 1;
  spec.pruner.warm_up_resource = -1;
  spec.pruner.warm_up_trials = -1;
  spec.pruner.min_chance = NAN;
  spec.completion = {INFINITY, -1, -0.5, 1, {}};
  CHECK(Fields(spec) ==
        "sampler.startup_trials sampler.grid_points.x sampler.grid_points pruner.brackets pruner.trials "
        "pruner.weak_bracket_level pruner.warm_up_resource pruner.warm_up_trials pruner.min_chance "
        "completion.target_objective completion.no_improvement_trials completion.no_improvement_tolerance "
        "completion.convergence_tolerance ");
}

TEST_CASE("Validate: a grid too large to be tried is refused", "[scheduler]") {
  SearchSpec spec = RandomJob(9, 5);
  spec.sampler.kind = SamplerKind::kGrid;
  for (int i = 0; i < 9; ++i) spec.parameters.push_back({"p" + std::to_string(i), ContinuousRange{0, 1}});
  CHECK(
      SearchErrors(spec) ==
      "sampler.grid_points: make a grid of more than 1048576 combinations; expected fewer points, or another "
      "sampler\n");
}

TEST_CASE("Validate: a job that nothing ends is refused, one of a finite space is not", "[scheduler]") {
  SearchSpec spec = RandomJob(0, 5);
  CHECK(Fields(spec) == "limits ");
  spec.parameters = {{"n", IntegerRange{1, 100}}};
  CHECK(Fields(spec) == "");
}

TEST_CASE("Validate: a limit below the first trial's part is refused, one that holds it is not",
          "[scheduler]") {
  SearchSpec spec = RandomJob(0, 5);
  spec.limits.max_total_resource = 4;
  CHECK(Fields(spec) == "limits.max_total_resource ");
  spec.limits.max_total_resource = 5;
  CHECK(Fields(spec) == "");
}

}  // namespace
}  // namespace winnow
