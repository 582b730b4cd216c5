#include "scheduler/pruners/perturbation.h"

#include <cmath>
#include <set>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

SearchSpec OneParameter(Range range) {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.parameters = {{"p", std::move(range)}};
  return spec;
}

// The values that 200 trials get which go on from `from`.
std::vector<Value> Values(const SearchSpec& spec, const Value& from) {
  const SearchSpace space(spec.parameters, spec.constraints);
  std::vector<Value> values;
  for (TrialNumber n = 1; n <= 200; ++n) values.push_back(Perturbed(spec, space, {from}, n)[0]);
  return values;
}

TEST_CASE("Perturbation: a number of a LOG range is multiplied by 0.8 or 1.25, or drawn anew",
          "[scheduler]") {
  int less = 0, more = 0;
  for (const Value& value : Values(OneParameter(ContinuousRange{1e-4, 1, Scaling::kLog}), 0.1)) {
    const double factor = std::get<double>(value) / 0.1;
    less += std::abs(factor - 0.8) < 1e-9 ? 1 : 0;
    more += std::abs(factor - 1.25) < 1e-9 ? 1 : 0;
  }
  CHECK(less > 50);
  CHECK(more > 50);
  CHECK(less + more > 120);
  CHECK(less + more < 180);
}

TEST_CASE("Perturbation: a number of a LINEAR range moves by a tenth of it", "[scheduler]") {
  int moved = 0;
  for (const Value& value : Values(OneParameter(ContinuousRange{0, 10, Scaling::kLinear}), 5.0)) {
    const double by = std::abs(std::get<double>(value) - 5);
    moved += std::abs(by - 1) < 1e-9 ? 1 : 0;
  }
  CHECK(moved > 120);
}

TEST_CASE("Perturbation: an integer always changes, and stays inside its range", "[scheduler]") {
  for (const auto scaling : {Scaling::kLinear, Scaling::kLog}) {
    for (const int64_t from : {1, 3, 8}) {
      for (const Value& value : Values(OneParameter(IntegerRange{1, 8, scaling}), from)) {
        CHECK(std::get<int64_t>(value) >= 1);
        CHECK(std::get<int64_t>(value) <= 8);
        CHECK(std::get<int64_t>(value) != from);
      }
    }
  }
}

TEST_CASE("Perturbation: discrete values and ordered categories become neighbours", "[scheduler]") {
  int neighbours = 0;
  for (const Value& value : Values(OneParameter(DiscreteRange{{1, 2, 4, 8, 16, 32, 64}}), 8.0))
    neighbours += value == Value(4.0) || value == Value(16.0) ? 1 : 0;
  CHECK(neighbours > 150);
  neighbours = 0;
  for (const Value& value : Values(OneParameter(CategoricalRange{{"a", "b", "c", "d", "e"}, true}), "a"))
    neighbours += value == Value("b") ? 1 : 0;
  CHECK(neighbours > 150);
}

TEST_CASE("Perturbation: conditions and constraints hold, and a trial always gets the same", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.parameters = {{"x", ContinuousRange{0, 1, Scaling::kLinear}},
                     {"kind", CategoricalRange{{"tree", "line"}}},
                     {"depth", IntegerRange{2, 4}, Condition{1, {std::string("tree")}}}};
  spec.constraints = {{{{0, 1.0}}, 0.0, 0.5}};
  const SearchSpace space(spec.parameters, spec.constraints);
  const Configuration from = {0.45, std::string("line"), Inactive{}};
  std::set<Configuration> seen;
  for (TrialNumber n = 1; n <= 200; ++n) {
    const Configuration next = Perturbed(spec, space, from, n);
    REQUIRE(space.Holds(next));
    REQUIRE(next != from);
    REQUIRE(next == Perturbed(spec, space, from, n));
    seen.insert(next);
  }
  CHECK(seen.size() > 20);
}

TEST_CASE("Perturbation: a space of one configuration gives that one", "[scheduler]") {
  const SearchSpec spec = OneParameter(DiscreteRange{{2}});
  const SearchSpace space(spec.parameters, spec.constraints);
  CHECK(Perturbed(spec, space, {2.0}, 7) == Configuration{2.0});
}

TEST_CASE("Perturbation: what has changed is said in a few words", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.parameters = {{"eta", ContinuousRange{0, 1, Scaling::kLinear}}, {"depth", IntegerRange{2, 9}}};
  CHECK(ChangeText(spec, {0.12, int64_t{6}}, {0.1, int64_t{7}}) == "eta 0.12 -> 0.1, depth 6 -> 7");
  CHECK(ChangeText(spec, {0.12, int64_t{6}}, {0.12, int64_t{6}}) == "unchanged hyperparameters");
}

}  // namespace
}  // namespace winnow
