#include "server/reads/earlier_fit.h"

#include "tests/catch.h"

namespace winnow {
namespace {

SearchSpace Space() {
  std::vector<Parameter> parameters = {
      {"depth", IntegerRange{1, 9}},
      {"eta", ContinuousRange{0.25, 1}},
      {"booster", CategoricalRange{{"tree", "linear", "True", "3"}}},
      {"lambda", DiscreteRange{{0, 0.5, 2}}},
  };
  parameters[3].condition = Condition{2, {std::string("linear")}};
  return SearchSpace(std::move(parameters), {LinearConstraint{{{0, 1}, {1, 1}}, 0, 9.5}});
}

using Values = std::map<std::string, Value>;

TEST_CASE("Earlier fit: kinds are converted where nothing is lost", "[server]") {
  const Values values = GENERATE(
      Values{{"depth", int64_t{3}}, {"eta", int64_t{1}}, {"booster", int64_t{3}}},
      Values{{"depth", 3.0}, {"eta", 1.0}, {"booster", 3.0}},
      Values{{"depth", std::string("3")}, {"eta", std::string("1e0")}, {"booster", std::string("3")}},
      Values{{"depth", std::string("3.0")},
             {"eta", std::string("+1")},
             {"booster", std::string("3")},
             {"more", 1.0}});
  const Fit fit = FitTo(Space(), values);
  CHECK(fit.misfit == "");
  CHECK(fit.configuration == Configuration{int64_t{3}, 1.0, std::string("3"), Inactive{}});
}

TEST_CASE("Earlier fit: a conditional parameter is wanted where it is active, and only there", "[server]") {
  Values values = {{"depth", int64_t{3}}, {"eta", 0.5}, {"booster", std::string("linear")}};
  CHECK(FitTo(Space(), values).misfit == "without lambda");
  values["lambda"] = int64_t{2};
  CHECK(FitTo(Space(), values).configuration.back() == Value(2.0));
  values["booster"] = std::string("tree");
  CHECK(FitTo(Space(), values).configuration.back() == Value(Inactive{}));
}

TEST_CASE("Earlier fit: Python's truth values are found", "[server]") {
  const Fit fit = FitTo(Space(), {{"depth", int64_t{1}}, {"eta", 0.5}, {"booster", std::string("true")}});
  CHECK(fit.configuration[2] == Value(std::string("True")));
}

TEST_CASE("Earlier fit: JSON's truth values are found by Python's, and numbers by their value", "[server]") {
  const SearchSpace space(
      {{"flag", CategoricalRange{{"true", "null"}}}, {"width", CategoricalRange{{"16", "32"}}}});
  const auto fit = [&](const char* flag, const char* width) {
    return FitTo(space, {{"flag", std::string(flag)}, {"width", std::string(width)}});
  };
  // As pandas writes them: a column of integers that lacks a value somewhere is one of real numbers.
  CHECK(fit("True", "16.0").configuration == Configuration{std::string("true"), std::string("16")});
  CHECK(fit("None", "3.2e1").configuration == Configuration{std::string("null"), std::string("32")});
  CHECK(fit("True", "17").misfit == "with width outside its range");
}

TEST_CASE("Earlier fit: sums of steps are the values that they stand for", "[server]") {
  const SearchSpace space({{"rate", DiscreteRange{{0, 0.1, 0.2, 0.3}}}, {"eta", ContinuousRange{0, 0.3}}});
  double sum = 0.1;
  sum += 2 * 0.1;
  REQUIRE(sum != 0.3);
  CHECK(FitTo(space, {{"rate", sum}, {"eta", sum}}).configuration == Configuration{0.3, 0.3});
  CHECK(FitTo(space, {{"rate", 1e-17}, {"eta", -1e-17}}).configuration == Configuration{0.0, 0.0});
  CHECK(FitTo(space, {{"rate", 0.3001}, {"eta", 0.1}}).misfit == "with rate outside its range");
  CHECK(FitTo(space, {{"rate", 0.3}, {"eta", 0.3001}}).misfit == "with eta outside its range");
}

TEST_CASE("Earlier fit: what does not fit says why", "[server]") {
  const auto [name, value, misfit] = GENERATE(table<std::string, Value, std::string>({
      {"depth", int64_t{10}, "with depth outside its range"},
      {"depth", 3.5, "with depth outside its range"},
      {"depth", std::string("three"), "with depth outside its range"},
      {"eta", 0.125, "with eta outside its range"},
      {"eta", std::string("nan"), "with eta outside its range"},
      {"booster", std::string("forest"), "with booster outside its range"},
      {"booster", Inactive{}, "without booster"},
      {"depth", int64_t{9}, "that violate a constraint"},
  }));
  Values values = {{"depth", int64_t{3}}, {"eta", 1.0}, {"booster", std::string("tree")}};
  values[name] = value;
  CHECK(FitTo(Space(), values).misfit == misfit);
}

}  // namespace
}  // namespace winnow
