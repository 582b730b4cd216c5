#include "scheduler/validate.h"

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

std::string Fields(const SearchSpec& spec) {
  std::string fields;
  for (const Violation& violation : ValidateSearch(spec)) fields += violation.field + " ";
  return fields;
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
  spec.limits = {-1, -1, -1, -1, -1, -1, 0};
  spec.nodes = 0;
  spec.seed = UINT64_MAX;
  CHECK(Fields(spec) ==
        "parameters[0].integer.min parameters[0].integer.scaling parameters[1].name "
        "parameters[1].categorical.values[1] objective.metric pruner.max_resource "
        "pruner.reduction_factor "
        "limits.max_trial_resource limits.max_trials limits.max_total_resource limits.max_parallel_trials "
        "limits.max_trial_resource limits.max_wall_time limits.max_node_seconds limits.max_attempts cluster.nodes seed ");
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
