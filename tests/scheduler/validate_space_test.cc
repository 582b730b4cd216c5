#include "scheduler/validate_space.h"

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// method: a line with a width, or a tree with a depth that may have a size; and a rate.
SearchSpec Methods() {
  SearchSpec spec = RandomJob(9, 5);
  spec.parameters = {{"method", CategoricalRange{{"line", "tree"}}},
                     {"width", ContinuousRange{0, 1}, Condition{0, {std::string("line")}}},
                     {"depth", IntegerRange{1, 8}, Condition{0, {std::string("tree")}}},
                     {"size", DiscreteRange{{1, 2, 4}}, Condition{2, {int64_t{7}, int64_t{8}}}},
                     {"rate", ContinuousRange{0, 1}}};
  return spec;
}

std::string SpaceErrors(const SearchSpec& spec) {
  std::string text;
  for (const Violation& violation : ValidateSpace(spec)) {
    text += violation.field + ": " + violation.description + "\n";
  }
  return text;
}

TEST_CASE("ValidateSpace: conditions and constraints that can hold are valid", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.constraints = {{{{2, 1}, {3, -1}}, 0, kInfinity}, {{{4, 2}}, -kInfinity, 1.5}};
  spec.initial = {{std::string("line"), 0.5, Inactive{}, Inactive{}, 0.1},
                  {std::string("tree"), Inactive{}, int64_t{8}, 4.0, 0.75}};
  CHECK(SpaceErrors(spec) == "");
}

TEST_CASE("ValidateSpace: conditions name an earlier parent that can have the values", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.parameters[1].condition = Condition{2, {int64_t{1}}};
  spec.parameters[2].condition = Condition{0, {}};
  spec.parameters[3].condition = Condition{2, {int64_t{8}, int64_t{9}, std::string("8")}};
  spec.parameters.push_back({"late", IntegerRange{1, 2}, Condition{4, {0.5}}});
  spec.parameters.push_back({"lost", IntegerRange{1, 2}, Condition{-1, {0.5}}});
  CHECK(
      SpaceErrors(spec) ==
      "parameters[1].condition.parameter: is \"depth\"; expected a parameter that is declared before width\n"
      "parameters[2].condition.values: is empty; expected at least one value of method\n"
      "parameters[3].condition.values[1]: is \"9\", which depth never is; expected an integer from 1 to 8\n"
      "parameters[3].condition.values[2]: is \"8\", which depth never is\n"
      "parameters[5].condition.parameter: is \"rate\", which is continuous; expected an integer, discrete or "
      "categorical parameter\n"
      "parameters[6].condition.parameter: is none of them; expected a parameter that is declared before "
      "lost\n");
}

TEST_CASE("ValidateSpace: a prior's value is one of the range", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.parameters[0].prior = Prior{std::string("tree")};
  spec.parameters[1].prior = Prior{1.0};  // of a parameter that the other prior leaves out
  spec.parameters[3].prior = Prior{4.0};
  CHECK(SpaceErrors(spec) == "");
  spec.parameters[0].prior = Prior{std::string("net")};
  spec.parameters[1].prior = Prior{1.5};
  spec.parameters[2].prior = Prior{int64_t{0}};
  spec.parameters[3].prior = Prior{3.0};
  CHECK(SpaceErrors(spec) ==
        "parameters[0].prior.value: is \"net\"; expected one of line, tree\n"
        "parameters[1].prior.value: is \"1.5\"; expected a number from 0 to 1\n"
        "parameters[2].prior.value: is \"0\"; expected an integer from 1 to 8\n"
        "parameters[3].prior.value: is \"3\"; expected one of 1, 2, 4\n");
}

TEST_CASE("ValidateSpace: where the trainer ends is known for every trial", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.own_end_parameter = 2;
  CHECK(SpaceErrors(spec) ==
        "parameters[2].condition: makes depth conditional, which says where the trainer ends; expected it in "
        "every "
        "trial\n");
}

TEST_CASE("ValidateSpace: a constraint has numbers, bounds and parameters that meet", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.constraints = {{{}, 0, 1},       {{{0, 1}, {4, NAN}}, 0, 1}, {{{4, 1}}, -kInfinity, kInfinity},
                      {{{4, 1}}, 3, 2}, {{{4, 1}}, NAN, 2},         {{{1, 1}, {3, 1}}, 0, 1},
                      {{{9, 1}}, 0, 1}};
  CHECK(SpaceErrors(spec) ==
        "constraints[0].coefficients: is empty; expected at least one parameter\n"
        "constraints[1].coefficients.method: is of a categorical parameter; expected integer, continuous or "
        "discrete ones\n"
        "constraints[1].coefficients.rate: is nan; expected a finite number\n"
        "constraints[2]: has neither min nor max; expected at least one of them\n"
        "constraints[3].min: is 3, more than max = 2; expected min <= max\n"
        "constraints[4].min: is nan; expected a number\n"
        "constraints[5].coefficients: names parameters that are never active together, because of method; "
        "expected some that a configuration can have\n"
        "constraints[6].coefficients: names parameter 9; expected declared ones\n");
}

TEST_CASE("ValidateSpace: constraints that no draw keeps are refused", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.constraints = {{{{4, 1}}, 2, 3}};
  CHECK(SpaceErrors(spec) ==
        "constraints: are kept by none of 10000 configurations drawn at random; expected wider bounds, or "
        "narrower "
        "ranges to draw from\n");
}

TEST_CASE("ValidateSpace: initial configurations are points of the space, all different", "[scheduler]") {
  SearchSpec spec = Methods();
  spec.constraints = {{{{2, 1}, {4, -2}}, -kInfinity, 6}};
  const Configuration tree = {std::string("tree"), Inactive{}, int64_t{3}, Inactive{}, 0.5};
  spec.initial = {{std::string("line"), Inactive{}, int64_t{3}, Inactive{}, 1.5},
                  {std::string("tree"), Inactive{}, int64_t{7}, 1.0, 0.25},
                  tree,
                  tree,
                  {0.5}};
  CHECK(
      SpaceErrors(spec) ==
      "initial_configurations[0].hyperparameters.width: is missing; expected a number from 0 to 1\n"
      "initial_configurations[0].hyperparameters.depth: is \"3\", but depth is not active with this method; "
      "expected none\n"
      "initial_configurations[0].hyperparameters.rate: is \"1.5\"; expected a number from 0 to 1\n"
      "initial_configurations[1].hyperparameters: breaks constraints[0]; expected depth - 2 rate <= 6\n"
      "initial_configurations[3].hyperparameters: is the same as initial_configurations[2]; expected "
      "different "
      "ones\n"
      "initial_configurations[4].hyperparameters: has 1 values; expected 5\n");
}

}  // namespace
}  // namespace winnow
