#include "scheduler/samplers/unit_points.h"

#include <cmath>

#include "scheduler/samplers/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

std::vector<Parameter> MixedParameters() {
  return {{"rate", ContinuousRange{1e-4, 1, Scaling::kLog}},
          {"kind", CategoricalRange{{"tree", "line", "net"}}},
          {"depth", IntegerRange{2, 9}, Condition{1, {std::string("tree"), std::string("net")}}},
          {"size", CategoricalRange{{"small", "medium", "large"}, true}},
          {"step", DiscreteRange{{0.1, 0.5, 3}}}};
}

TEST_CASE("Unit points: a column per parameter, numeric where neighbours are alike", "[scheduler]") {
  const SearchSpace space(MixedParameters());
  const UnitPoints points(space);
  CHECK(points.columns() == std::vector<Column>{{0, false}, {3, false}, {0, true}, {0, false}, {0, false}});
  CHECK(points.values(0) == 0);
  CHECK(points.values(2) == 8);
  CHECK(points.values(3) == 3);
}

TEST_CASE("Unit points: categories are their numbers, what is inactive is none", "[scheduler]") {
  const SearchSpace space(MixedParameters());
  const Eigen::VectorXd point =
      UnitPoints(space).PointOf({1e-2, std::string("line"), Inactive{}, std::string("medium"), 3.0});
  CHECK(point[0] == Approx(0.5));
  CHECK(point[1] == 1);
  CHECK(std::isnan(point[2]));
  CHECK(point[3] == Approx(0.5));
  CHECK(point[4] == Approx(5.0 / 6));
}

TEST_CASE("Unit points: a configuration comes back from its point", "[scheduler]") {
  SearchSpec spec = RandomJob(0, 1);
  spec.parameters = MixedParameters();
  const SearchSpace space(spec.parameters);
  const UnitPoints points(space);
  for (TrialNumber number = 1; number <= 200; ++number) {
    Configuration drawn = RandomConfiguration(spec, space, number);
    Eigen::VectorXd point = points.PointOf(drawn);
    if (std::isnan(point[2])) point[2] = 0.9;  // its condition makes it inactive again
    Configuration back = points.ConfigurationOf(point);
    CHECK(std::get<double>(back[0]) == Approx(std::get<double>(drawn[0])));
    back[0] = drawn[0];
    CHECK(back == drawn);
  }
}

}  // namespace
}  // namespace winnow
