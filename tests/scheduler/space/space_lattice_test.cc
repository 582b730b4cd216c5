#include "scheduler/space/space_lattice.h"

#include <set>

#include "scheduler/space/space.h"
#include "tests/catch.h"

namespace winnow {
namespace {

std::vector<Value> Texts(const std::vector<std::string>& texts) { return {texts.begin(), texts.end()}; }

// Two methods, one of them with a depth, which in turn has a size where it is 2.
std::vector<Parameter> Methods() {
  return {{"method", CategoricalRange{{"line", "tree"}}},
          {"depth", IntegerRange{1, 2}, Condition{0, Texts({"tree"})}},
          {"size", DiscreteRange{{0.5, 8}}, Condition{1, {int64_t{2}}}}};
}

std::string Listed(const SearchSpace& space) {
  std::string text;
  for (int64_t i = 0; i < space.size(); ++i) {
    for (const Value& value : space.Nth(i)) text += ValueToString(value) + " ";
    text += "| ";
  }
  return text;
}

TEST_CASE("Lattice: counts through all combinations, the last parameter first", "[scheduler]") {
  const SearchSpace space({{"a", IntegerRange{1, 2}}, {"b", CategoricalRange{{"x", "y", "z"}}}});
  CHECK(Listed(space) == "1 x | 1 y | 1 z | 2 x | 2 y | 2 z | ");
}

TEST_CASE("Lattice: what differs in inactive parameters only is one configuration", "[scheduler]") {
  CHECK(Listed(SearchSpace(Methods())) == "line   | tree 1  | tree 2 0.5 | tree 2 8 | ");
}

TEST_CASE("Lattice: constraints leave configurations out where all their parameters are active",
          "[scheduler]") {
  const LinearConstraint few{{{1, 1}, {2, 1}}, -1e9, 3};  // depth + size <= 3
  CHECK(Listed(SearchSpace(Methods(), {few})) == "line   | tree 1  | tree 2 0.5 | ");
  const LinearConstraint none{{{1, 1}}, 5, 6};
  CHECK(Listed(SearchSpace(Methods(), {none})) == "line   | ");
}

TEST_CASE("Lattice: what meets a bound but for rounding keeps the constraint", "[scheduler]") {
  const DiscreteRange tenths{{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}};
  const std::vector<Parameter> parameters = {{"a", tenths}, {"b", tenths}, {"c", tenths}};
  const SearchSpace shares(parameters, {{{{0, 1}, {1, 1}, {2, 1}}, 1, 1}});
  CHECK(shares.size() == 36);
  CHECK(shares.Holds({0.2, 0.7, 0.1}));  // less than 1 by half of an epsilon
  CHECK_FALSE(shares.Holds({0.2, 0.7, 0.2}));
  CHECK(SearchSpace::Satisfies({{{0, 1}, {1, 1}}, -1, 0.3}, {0.1, 0.2}));
  CHECK_FALSE(SearchSpace::Satisfies({{{0, 1}, {1, 1}}, -1, 0.3}, {0.1, 0.2 + 1e-9}));
  CHECK_FALSE(SearchSpace::Satisfies({{{0, 1}, {1, 1}}, 0.3 + 1e-9, 1}, {0.1, 0.2}));
  // Integers are exact, and a sum beyond all numbers keeps no bound.
  CHECK_FALSE(SearchSpace::Satisfies({{{0, 1}, {1, -1}}, 1, 9}, {int64_t{1'000'000}, int64_t{1'000'000}}));
  CHECK_FALSE(SearchSpace::Satisfies({{{0, 1e300}}, 0, 1}, {1e300}));
  CHECK_FALSE(SearchSpace::Satisfies({{{0, -1e300}}, 0, 1}, {1e300}));
}

TEST_CASE("Lattice: a configuration's number is found again", "[scheduler]") {
  const std::vector<Parameter> parameters = {{"a", IntegerRange{-3, 9}},
                                             {"b", CategoricalRange{{"x", "y", "z"}}},
                                             {"c", IntegerRange{0, 40}, Condition{1, Texts({"x", "z"})}}};
  for (const auto& constraints : {std::vector<LinearConstraint>{}, {{{{0, 2}, {2, -1}}, -20, 10}}}) {
    std::vector<Axis> axes;
    for (const Parameter& parameter : parameters) axes.push_back({parameter.range, {}});
    const auto lattice = Lattice::Make(parameters, constraints, axes);
    const SearchSpace space(parameters, constraints);
    REQUIRE(lattice->size() == space.size());
    std::set<Configuration> all;
    for (int64_t i = 0; i < lattice->size(); ++i) {
      const Configuration configuration = lattice->Nth(i);
      REQUIRE(space.Holds(configuration));
      REQUIRE(lattice->IndexOf(configuration) == i);
      all.insert(configuration);
    }
    CHECK(static_cast<int64_t>(all.size()) == lattice->size());
    CHECK(lattice->IndexOf({int64_t{10}, std::string("x"), int64_t{0}}) == -1);
    CHECK(lattice->IndexOf({int64_t{0}, std::string("y"), int64_t{0}}) == -1);
  }
}

TEST_CASE("Lattice: as many as a brute count finds under conditions and constraints", "[scheduler]") {
  const std::vector<Parameter> parameters = {
      {"a", IntegerRange{0, 9}},
      {"b", IntegerRange{0, 9}, Condition{0, {int64_t{3}, int64_t{4}}}},
      {"c", IntegerRange{0, 9}}};
  const std::vector<LinearConstraint> constraints = {{{{0, 1}, {2, 1}}, 2, 12}, {{{1, 1}, {2, -1}}, 0, 100}};
  const SearchSpace space(parameters, constraints);
  int64_t count = 0;
  for (int64_t a = 0; a < 10; ++a) {
    for (int64_t c = 0; c < 10; ++c) {
      const bool has_b = a == 3 || a == 4;
      for (int64_t b = 0; b < (has_b ? 10 : 1); ++b) {
        count += space.Holds({a, has_b ? Value(b) : Value(Inactive{}), c}) ? 1 : 0;
      }
    }
  }
  CHECK(space.size() == count);
  CHECK(count > 50);
}

TEST_CASE("Lattice: the largest spaces are enumerated, larger ones are not", "[scheduler]") {
  const IntegerRange thousand{1, 1024};
  const std::vector<Parameter> most = {{"a", thousand}, {"b", thousand}};
  CHECK(SearchSpace(most).size() == SearchSpace::kMostEnumerated);
  CHECK(SearchSpace(most, {{{{0, 1}, {1, 1}}, 2, 5000}}).size() == SearchSpace::kMostEnumerated);
  std::vector<Parameter> more = most;
  more.push_back({"c", CategoricalRange{{"x", "y"}}});
  CHECK(SearchSpace(more).size() == 0);
  CHECK(SearchSpace(more, {{{{0, 1}, {1, 1}}, 2, 5000}}).size() == 0);
  CHECK(SearchSpace({{"real", ContinuousRange{0, 1}}}).size() == 0);
  CHECK(SearchSpace({{"real", ContinuousRange{0.5, 0.5}}}).size() == 1);
}

TEST_CASE("Lattice: many methods with parameters of their own are few configurations", "[scheduler]") {
  std::vector<Parameter> parameters = {{"method", IntegerRange{0, 19}}};
  for (int64_t method = 0; method < 20; ++method) {
    for (int k = 0; k < 3; ++k) {
      parameters.push_back(
          {"p" + std::to_string(method) + std::to_string(k), IntegerRange{0, 9}, Condition{0, {method}}});
    }
  }
  const SearchSpace space(parameters);  // of 20 * 10^60 combinations
  CHECK(space.size() == 20'000);
  CHECK(space.Holds(space.Nth(19'999)));
}

}  // namespace
}  // namespace winnow
