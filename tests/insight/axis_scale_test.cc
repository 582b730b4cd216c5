#include "insight/axis_scale.h"

#include <algorithm>

#include "scheduler/space/space.h"
#include "tests/catch.h"

namespace winnow {
namespace {

TEST_CASE("AxisScale: numbers begin at 0 and end at 1 on their scale, values lie in the middle of their part",
          "[insight]") {
  const AxisScale rate({"rate", ContinuousRange{1e-4, 1, Scaling::kLog}});
  CHECK(rate.PositionOf(1e-4) == 0);
  CHECK(rate.PositionOf(1e-2) == Approx(0.5));
  CHECK(rate.PositionOf(1) == 1);
  const AxisScale momentum({"momentum", ContinuousRange{0, 0.99, Scaling::kReverseLog}});
  CHECK(momentum.PositionOf(0.9) == Approx(0.5));
  const AxisScale depth({"depth", IntegerRange{1, 5}});
  CHECK(depth.PositionOf(2) == Approx(0.25));
  const AxisScale booster({"booster", CategoricalRange{{"x", "y"}}});
  CHECK(booster.PositionOf(booster.NumberOf(std::string("y"))) == Approx(0.75));
  const AxisScale step({"step", DiscreteRange{{0.5, 2, 8}}});
  CHECK(step.PositionOf(step.NumberOf(8.0)) == Approx(2.5 / 3));
  CHECK(std::isnan(rate.PositionOf(rate.NumberOf(Inactive{}))));
  CHECK(AxisScale({"one", IntegerRange{3, 3}}).PositionOf(3) == 0.5);
}

TEST_CASE("AxisScale: an integer's place in the unit cube is that of the search space", "[insight]") {
  for (const Scaling scaling : {Scaling::kLinear, Scaling::kLog, Scaling::kReverseLog}) {
    const Parameter parameter = {"n", IntegerRange{3, 40, scaling}};
    const SearchSpace space({parameter});
    const AxisScale axis(parameter);
    for (int64_t n = 3; n <= 40; ++n)
      CHECK(axis.UnitOf(static_cast<double>(n)) == Approx(space.ToUnit({n})[0]));
  }
}

TEST_CASE("AxisScale: ticks rise within the axis, at round numbers", "[insight]") {
  const std::vector<Parameter> parameters = {{"a", ContinuousRange{1e-4, 1, Scaling::kLog}},
                                             {"b", ContinuousRange{0.5, 0.999, Scaling::kReverseLog}},
                                             {"c", ContinuousRange{-3.7, 12.2}},
                                             {"d", IntegerRange{1, 1'000'000, Scaling::kLog}},
                                             {"e", IntegerRange{-5, 5}},
                                             {"f", IntegerRange{1, 300, Scaling::kReverseLog}},
                                             {"g", ContinuousRange{-1e308, 1e308}},
                                             {"h", IntegerRange{7, 7}},
                                             {"i", CategoricalRange{std::vector<std::string>(40, "x")}}};
  for (const Parameter& parameter : parameters) {
    const auto ticks = AxisScale(parameter).Ticks();
    INFO(parameter.name);
    CHECK(ticks.size() <= 40);
    CHECK(std::is_sorted(ticks.begin(), ticks.end(),
                         [](const auto& x, const auto& y) { return x.first < y.first; }));
    REQUIRE(!ticks.empty());
    CHECK(ticks.front().first >= 0);
    CHECK(ticks.back().first <= 1);
  }
  const auto rate = AxisScale(parameters[0]).Ticks();
  REQUIRE(rate.size() == 5);
  CHECK(rate[1].second == "0.001");
  CHECK(rate[1].first == Approx(0.25));
}

}  // namespace
}  // namespace winnow
