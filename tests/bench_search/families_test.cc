#include "bench/search/families.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "bench/search/families_c.h"
#include "scheduler/space/random.h"
#include "scheduler/space/space.h"
#include "tests/catch.h"
#include "tests/support/temp_folder.h"

namespace winnow {
namespace {

std::vector<double> Draw(const Family& family, TrialNumber trial) {
  std::vector<double> unit;
  for (size_t i = 0; i < family.parameters().size(); ++i) {
    unit.push_back(RandomUnit(7, trial, Purpose::kConfiguration, i));
  }
  return unit;
}

std::unique_ptr<Family> Open(const std::string& name) {
  auto family = MakeFamily(name);
  REQUIRE(family.ok());
  return *std::move(family);
}

// A file of this process alone: other tests run beside it.
std::string FileWith(const std::string& text) {
  static const TempFolder folder;
  const std::string path = folder / "table";
  std::ofstream(path) << text;
  return path;
}

std::string TableOf(const std::string& text) { return "table:" + FileWith(text); }

constexpr char kTable[] =
    "eta:continuous:0:1,depth:integer:1:10,seconds_per_round,1,2,3\n"
    "0.25,2,0.1,0.5,0.8,0.7\n"
    "0.75,9,0.1,0.6,0.6,0.75\n";

TEST_CASE("Families: the optimum is attained at the full level", "[bench]") {
  for (const std::string& name : FamilyNames()) {
    INFO(name);
    const auto family = Open(name);
    CHECK(family->Value(family->optimizer(), family->max_resource()) ==
          Approx(family->optimum()).margin(1e-9).epsilon(0));
  }
}

TEST_CASE("Families: no level of 20,000 configurations exceeds the optimum, and no curve falls", "[bench]") {
  for (const std::string& name : FamilyNames()) {
    INFO(name);
    const auto family = Open(name);
    for (TrialNumber trial = 1; trial <= 20'000; ++trial) {
      const std::vector<double> unit = Draw(*family, trial);
      double before = -INFINITY;
      for (const int level : {1, 2, 5, 27, 80, 81}) {
        const double value = family->Value(unit, level);
        if (!(value >= before && value <= family->optimum())) FAIL("trial " << trial << " level " << level);
        before = value;
      }
    }
  }
}

// From the optimum no small step may lead up: so a published constant that is wrong in its last digits is
// seen.
TEST_CASE("Families: the optimum is no slope", "[bench]") {
  for (const std::string& name : FamilyNames()) {
    const auto family = Open(name);
    for (size_t i = 0; i < family->parameters().size(); ++i) {
      for (const double step : {-0.01, -0.001, -0.0001, 0.0001, 0.001, 0.01}) {
        std::vector<double> unit = family->optimizer();
        unit[i] += step;
        INFO(name << ", parameter " << i << ", step " << step);
        CHECK(family->Value(unit, family->max_resource()) <= family->optimum());
      }
    }
  }
}

TEST_CASE("Families: a whole curve is the same as its levels one by one", "[bench]") {
  for (const std::string& name : FamilyNames()) {
    INFO(name);
    const auto family = Open(name);
    const std::vector<double> unit = Draw(*family, 1);
    const Family::Curve curve = family->WholeCurve(unit, 3);
    REQUIRE(curve.values.size() == static_cast<size_t>(family->max_resource()));
    for (int level = 1; level <= family->max_resource(); ++level) {
      CHECK(curve.values[level - 1] == family->Value(unit, level));
      CHECK(curve.observed[level - 1] == family->Observed(unit, level, 3));
    }
  }
}

TEST_CASE("Families: noise depends on the seed and is centred", "[bench]") {
  for (const std::string name : {"noisy", "counting_ones"}) {
    INFO(name);
    const auto family = Open(name);
    double sum = 0, squares = 0;
    constexpr int kSeeds = 4000;
    const std::vector<double> unit = Draw(*family, 1);
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      const double error = family->Observed(unit, 5, seed) - family->Value(unit, 5);
      sum += error;
      squares += error * error;
    }
    const double deviation = std::sqrt(squares / kSeeds);
    CHECK(deviation > 0);
    CHECK(std::abs(sum / kSeeds) < 4 * deviation / std::sqrt(kSeeds));
    CHECK(family->Observed(unit, 5, 1) != family->Observed(unit, 5, 2));
    CHECK(family->Observed(unit, 5, 1) == family->Observed(unit, 5, 1));
  }
}

TEST_CASE("Families: coordinates are laid on the ranges as the scheduler lays them", "[bench]") {
  const auto family = Open("crossing");
  std::vector<Parameter> parameters;
  for (const FamilyParameter& p : family->parameters()) {
    const Scaling scaling = p.log ? Scaling::kLog : Scaling::kLinear;
    Parameter& parameter = parameters.emplace_back();
    parameter.name = p.name;
    if (p.kind == FamilyKind::kContinuous) parameter.range = ContinuousRange{p.min, p.max, scaling};
    if (p.kind == FamilyKind::kCategorical) parameter.range = CategoricalRange{{"0", "1", "2"}};
    if (p.kind == FamilyKind::kInteger) {
      parameter.range = IntegerRange{static_cast<int64_t>(p.min), static_cast<int64_t>(p.max), scaling};
    }
  }
  const SearchSpace space(parameters);
  for (TrialNumber trial = 1; trial <= 1000; ++trial) {
    const std::vector<double> unit = Draw(*family, trial);
    CHECK(family->Value(space.ToUnit(space.FromUnit(unit)), 81) ==
          Approx(family->Value(unit, 81)).epsilon(1e-9));
  }
}

TEST_CASE("Families: a table answers with the nearest row's curve", "[bench]") {
  const auto family = Open(TableOf(kTable));
  CHECK(family->max_resource() == 3);
  CHECK(family->optimum() == 0.8);
  CHECK(family->Value({0.3, 0.1}, 2) == 0.8);
  CHECK(family->Value({0.9, 0.8}, 3) == 0.75);
  CHECK(family->WholeCurve(family->optimizer(), 0).observed == std::vector<double>{0.5, 0.8, 0.7});
}

TEST_CASE("Families: recorded rows answer with the nearest row's curve, to minimise negated", "[bench]") {
  const std::string path = FileWith(
      "minimize rows 2 2 3\n"
      "rate float 0.01 1 log\n"
      "kind cat a b\n"
      "0.01 0 0.7 0.5\n"
      "1 0 0.6 nan\n"
      "0.5 1 0.9 0.4\n");
  const auto family = Open("rows:" + path);
  CHECK(family->max_resource() == 2);
  CHECK(family->optimum() == -0.4);
  CHECK(family->WholeCurve({0.1, 0.25}, 1).values == std::vector<double>{-0.7, -0.5});
  CHECK(family->WholeCurve({0.1, 0.75}, 1).values ==
        std::vector<double>{-0.9, -0.4});  // another category is far
  CHECK(std::isnan(family->WholeCurve({0.9, 0.25}, 1).values[1]));
}

TEST_CASE("Families: a timed table says how long a configuration's levels take beside the median row's",
          "[bench]") {
  const std::string rows =
      "x float 0 1 lin\n"
      "0 0.5 1 2\n"
      "0.5 2 1 3\n"
      "1 6 1 4\n";
  const auto nearest = Open("rows:" + FileWith("maximize rows 2 1 3 timed\n" + rows));
  CHECK(nearest->Slowness({0.1}) == 0.25);
  CHECK(nearest->Slowness({0.5}) == 1);
  CHECK(nearest->Slowness({0.9}) == 3);
  CHECK(nearest->WholeCurve({0.9}, 1).values == std::vector<double>{1, 4});
  const auto smooth = Open("smooth:" + FileWith("maximize rows 2 1 3 timed\n" + rows));
  CHECK(smooth->Slowness({0.1}) < smooth->Slowness({0.2}));
  CHECK(Open("branin")->Slowness({0.1, 0.9}) == 1);
}

TEST_CASE("Families: a recorded grid is every combination, the last hyperparameter fastest", "[bench]") {
  const std::string path = FileWith(
      "maximize grid 1 2 4\n"
      "size disc 8 64\n"
      "kind cat a b\n"
      "1\n2\n3\n4\n");
  const auto family = Open("rows:" + path);
  CHECK(family->WholeCurve({0.2, 0.7}, 1).values == std::vector<double>{2});
  CHECK(family->WholeCurve({0.7, 0.2}, 1).values == std::vector<double>{3});
  CHECK(family->optimum() == 4);
}

TEST_CASE("Families: a smooth play lies between its rows, and what diverged sets no scale", "[bench]") {
  std::string text = "minimize rows 1 1 21\nx float 0 1 lin\n";
  for (int i = 0; i <= 20; ++i)
    text += std::to_string(0.05 * i) + " " + (i == 20 ? "1e18" : std::to_string(i)) + "\n";
  const auto family = Open("smooth:" + FileWith(text));
  const double before = family->WholeCurve({0.20}, 1).values[0],
               after = family->WholeCurve({0.21}, 1).values[0];
  CHECK(before > after);
  CHECK(before - after < 1);
  CHECK(family->WholeCurve({1.0}, 1).values[0] > -60);
}

TEST_CASE("Families: recorded tables that are none are refused with the line", "[bench]") {
  const auto why = [](const std::string& text) {
    return std::string(MakeFamily("rows:" + FileWith(text)).status().message());
  };
  CHECK(why("minimise rows 1 1 2\n").find(":1: expected maximize|minimize rows|grid") != std::string::npos);
  CHECK(why("minimize rows 1 1 2\nx real 0 1\n").find(":2: expected NAME int|float") != std::string::npos);
  CHECK(why("minimize rows 2 1 2\nx float 0 1 lin\n0.5 1\n").find(":3: expected 2 values") !=
        std::string::npos);
  CHECK(why("minimize rows 1 1 2 late\nx float 0 1 lin\n").find(":1: expected timed") != std::string::npos);
  CHECK(why("minimize rows 1 1 2 timed\nx float 0 1 lin\n0.5 0 1\n").find(":3: expected seconds above 0") !=
        std::string::npos);
  CHECK(absl::IsNotFound(MakeFamily("rows:/nowhere.tab").status()));
}

TEST_CASE("Families: bad names and tables are refused with the reason", "[bench]") {
  CHECK(MakeFamily("brannin").status().message() ==
        "no family \"brannin\"; expected one of branin, hartmann6, counting_ones, crossing, noisy, d20, "
        "table:PATH, rows:PATH, smooth:PATH or repeated:FAMILY");
  CHECK(absl::IsNotFound(MakeFamily("table:/nowhere.csv").status()));
  CHECK(absl::IsInvalidArgument(MakeFamily(TableOf("eta,1,2\n")).status()));
  const std::string short_row = std::string(kTable) + "0.1,2,0.1,0.5\n";
  CHECK_THAT(std::string(MakeFamily(TableOf(short_row)).status().message()),
             Catch::Matchers::EndsWith(":4: expected 6 numbers"));
}

TEST_CASE("Families: the C interface gives what the C++ one gives", "[bench]") {
  char error[80];
  for (const std::string& name : FamilyNames()) {
    INFO(name);
    const auto family = Open(name);
    winnow_family* c = winnow_family_open(name.c_str(), error, sizeof error);
    REQUIRE(c != nullptr);
    CHECK(winnow_family_optimum(c) == family->optimum());
    REQUIRE(winnow_family_max_resource(c) == 81);
    REQUIRE(winnow_family_parameters(c) == static_cast<int>(family->parameters().size()));
    const std::vector<double> unit = Draw(*family, 2);
    CHECK(winnow_family_value(c, unit.data(), 9) == family->Value(unit, 9));
    CHECK(winnow_family_observed(c, unit.data(), 9, 4) == family->Observed(unit, 9, 4));
    std::vector<double> values(81), observed(81);
    winnow_family_curve(c, unit.data(), 4, values.data(), observed.data());
    CHECK(values == family->WholeCurve(unit, 4).values);
    CHECK(observed == family->WholeCurve(unit, 4).observed);
    winnow_family_close(c);
  }
  CHECK(winnow_family_open("none", error, sizeof error) == nullptr);
  CHECK(std::string(error).substr(0, 16) == "no family \"none\"");
}

TEST_CASE("Families: the C interface describes the parameters", "[bench]") {
  char error[80];
  winnow_family* c = winnow_family_open("crossing", error, sizeof error);
  REQUIRE(c != nullptr);
  CHECK(winnow_family_parameter_name(c, 1) == std::string("width"));
  CHECK(winnow_family_parameter_kind(c, 0) == std::string("continuous"));
  CHECK(winnow_family_parameter_kind(c, 1) == std::string("integer"));
  CHECK(winnow_family_parameter_kind(c, 4) == std::string("categorical"));
  CHECK(winnow_family_parameter_min(c, 1) == 16);
  CHECK(winnow_family_parameter_max(c, 1) == 512);
  CHECK(winnow_family_parameter_log(c, 1) == 1);
  CHECK(winnow_family_parameter_log(c, 2) == 0);
  const double native[] = {0.01, 512, 0.45, 1, 2};
  double unit[5];
  winnow_family_to_unit(c, native, unit);
  CHECK(unit[0] == Approx(0.5));
  CHECK((*MakeFamily("crossing"))->ToNative({unit, unit + 5})[1] == 512);
  CHECK(unit[3] == 1);
  CHECK(unit[4] == Approx(5.0 / 6));
  winnow_family_close(c);
}

}  // namespace
}  // namespace winnow
