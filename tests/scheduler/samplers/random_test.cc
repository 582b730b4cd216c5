#include "scheduler/samplers/random.h"

#include <set>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

SearchSpec Constrained() {
  SearchSpec spec;
  spec.seed = 11;
  spec.parameters = {{"free", ContinuousRange{0, 1}},
                     {"x", ContinuousRange{0, 1}},
                     {"y", ContinuousRange{0, 1}},
                     {"kind", CategoricalRange{{"a", "b", "c", "d"}}},
                     {"depth", IntegerRange{1, 8}, Condition{3, {std::string("a"), std::string("b")}}},
                     {"width", DiscreteRange{{1, 2, 4}}, Condition{4, {int64_t{1}, int64_t{2}}}}};
  // x + y <= 1, and where both exist width <= 2 depth.
  spec.constraints = {{{{1, 1}, {2, 1}}, -1, 1}, {{{4, -2}, {5, 1}}, -100, 0}};
  return spec;
}

TEST_CASE("Random: where a draw looks at much, fewer are made", "[scheduler]") {
  SearchSpec spec = RandomJob(1, 1);
  CHECK(MostDraws(spec) == kMostDraws);
  for (int i = 0; i < 1000; ++i) spec.parameters.push_back({"p" + std::to_string(i), ContinuousRange{0, 1}});
  CHECK(MostDraws(spec) < kMostDraws / 4);
  spec.constraints.resize(100);
  for (LinearConstraint& constraint : spec.constraints) {
    constraint.max = 1000;
    for (int i = 0; i < 1000; ++i) constraint.terms.emplace_back(i, 1.0);
  }
  CHECK(MostDraws(spec) == 200);
}

TEST_CASE("Random: 100,000 draws of a conditional and constrained space are points of it", "[scheduler]") {
  const SearchSpec spec = Constrained();
  const SearchSpace space(spec.parameters, spec.constraints);
  int64_t with_depth = 0, with_width = 0;
  for (TrialNumber number = 1; number <= 100'000; ++number) {
    const Configuration drawn = RandomConfiguration(spec, space, number);
    if (!space.Holds(drawn)) FAIL("trial " << number);
    with_depth += std::holds_alternative<int64_t>(drawn[4]) ? 1 : 0;
    with_width += std::holds_alternative<double>(drawn[5]) ? 1 : 0;
  }
  // Half of the kinds have a depth; depths 1 (with 2 of 3 widths) and 2 have a width: 5/3 of 23/3 that are
  // left.
  CHECK(static_cast<double>(with_depth) / 100'000 == Approx(0.4894).margin(0.01));
  CHECK(static_cast<double>(with_width) / 100'000 == Approx(0.1064).margin(0.005));
}

TEST_CASE("Random: constraints leave the distribution of the rest uniform", "[scheduler]") {
  const SearchSpec spec = Constrained();
  const SearchSpace space(spec.parameters, spec.constraints);
  constexpr int kCells = 100, kDraws = 100'000;
  std::vector<int> cells(kCells);
  for (TrialNumber number = 1; number <= kDraws; ++number) {
    ++cells[static_cast<size_t>(std::get<double>(RandomConfiguration(spec, space, number)[0]) * kCells)];
  }
  double chi_square = 0;
  constexpr double kExpected = kDraws / kCells;
  for (int cell : cells) chi_square += (cell - kExpected) * (cell - kExpected) / kExpected;
  CHECK(chi_square < 160);  // 99 degrees of freedom: once in 10,000 seeds
}

TEST_CASE("Random: constraints that few draws keep are kept by every trial", "[scheduler]") {
  SearchSpec spec = Constrained();
  spec.constraints = {{{{1, 1}, {2, 1}}, -1, 0.01}, {{{1, 1}, {2, -1}}, 0, 0.001}};  // 1 of 100,000
  SearchSpace space(spec.parameters, spec.constraints);
  while (!CanBeDrawn(spec, space)) ++spec.seed;
  std::set<Configuration> seen;
  for (TrialNumber number = 1; number <= 50; ++number) {
    const Configuration drawn = RandomConfiguration(spec, space, number);
    CHECK(space.Holds(drawn));
    seen.insert(drawn);
  }
  CHECK(seen.size() == 50);
}

TEST_CASE("Random: a needle in a finite space is found among its configurations", "[scheduler]") {
  SearchSpec spec;
  spec.parameters = {{"a", IntegerRange{1, 1000}}, {"b", IntegerRange{1, 1000}}};
  spec.constraints = {{{{0, 1}, {1, 1}}, 2, 3}};
  const SearchSpace space(spec.parameters, spec.constraints);
  REQUIRE(space.size() == 3);
  std::set<Configuration> seen;
  for (int64_t redraw = 0; redraw < 30; ++redraw) seen.insert(RandomConfiguration(spec, space, 1, redraw));
  CHECK(seen.size() == 3);
}

}  // namespace
}  // namespace winnow
