#include "scheduler/suggest_ranges.h"

#include <cmath>
#include <functional>

#include "scheduler/samplers/random.h"
#include "scheduler/space/space.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// A job over the parameters themselves, of random trials, to be maximised.
EarlierJob JobOver(const std::vector<Parameter>& parameters, int trials, uint64_t seed,
                   const std::function<double(const Configuration&)>& objective) {
  SearchSpec spec = RandomJob(0, 1);
  spec.parameters = parameters;
  spec.seed = seed;
  EarlierJob job{"job-" + std::to_string(seed), Goal::kMaximize, {}, {}};
  for (const Parameter& parameter : parameters) job.ranges.emplace_back(parameter.range);
  for (TrialNumber number = 1; number <= trials; ++number) {
    const Configuration drawn = RandomConfiguration(spec, SearchSpace(parameters), number);
    job.trials.push_back({drawn, objective(drawn)});
  }
  return job;
}

double NumberAt(const Configuration& configuration, size_t i) { return std::get<double>(configuration[i]); }

const std::vector<Parameter> kRates = {{"rate", ContinuousRange{1e-5, 10, Scaling::kLog}},
                                       {"other", ContinuousRange{0, 1}}};
// The best rate is 0.01; other does not matter.
double PeakAtCentiRate(const Configuration& at) { return -std::abs(std::log10(NumberAt(at, 0)) + 2); }

TEST_CASE("Suggest ranges: narrower where all good trials are, and not where nothing matters",
          "[scheduler]") {
  const auto found = SuggestRanges(kRates, {JobOver(kRates, 100, 1, PeakAtCentiRate)});
  REQUIRE(found.size() == 1);
  CHECK(found[0].parameter == 0);
  CHECK_FALSE(found[0].wider);
  const auto range = std::get<ContinuousRange>(found[0].range);
  CHECK(range.scaling == Scaling::kLog);
  // A quarter of six decades is 1.5 about 0.01, and a tenth of six is added at both sides.
  CHECK(std::log10(range.min) == Approx(-2 - 0.75 - 0.6).margin(0.2));
  CHECK(std::log10(range.max) == Approx(-2 + 0.75 + 0.6).margin(0.2));
  // Rounded to two digits.
  CHECK(DoubleToString(range.min).size() <= 7);
  CHECK(found[0].why.find("All 25 good trials have it from 0.00") == 0);
  CHECK(found[0].why.find("of all 100; by chance that would be so with a probability of less than 0.05 %.") !=
        std::string::npos);
}

TEST_CASE("Suggest ranges: what holds by chance is hardly ever suggested", "[scheduler]") {
  int suggested = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const EarlierJob job = JobOver(kRates, 60, seed, [seed](const Configuration& at) {
      return std::sin(1e6 * static_cast<double>(seed) * NumberAt(at, 0) + 1e6 * NumberAt(at, 1));
    });
    suggested += static_cast<int>(SuggestRanges(kRates, {job}).size());
  }
  // There are 200 parameters.
  CHECK(suggested < 12);
}

TEST_CASE("Suggest ranges: too few good trials speak for nothing", "[scheduler]") {
  CHECK(SuggestRanges(kRates, {JobOver(kRates, 39, 1, PeakAtCentiRate)}).empty());
  CHECK(SuggestRanges(kRates, {}).empty());
  // Jobs speak together, whatever their objectives are worth beside each other.
  const EarlierJob one = JobOver(kRates, 30, 1, PeakAtCentiRate);
  const EarlierJob two =
      JobOver(kRates, 30, 2, [](const auto& at) { return 1000 + 5 * PeakAtCentiRate(at); });
  CHECK(SuggestRanges(kRates, {one, two}).size() == 1);
}

TEST_CASE("Suggest ranges: wider where the best is at an end that both jobs share", "[scheduler]") {
  const auto upper = [](const Configuration& at) { return NumberAt(at, 0); };
  auto found = SuggestRanges(kRates, {JobOver(kRates, 100, 3, upper)});
  REQUIRE(found.size() == 1);
  CHECK(found[0].wider);
  // A quarter of six decades more.
  CHECK(found[0].range == Range(ContinuousRange{1e-5, 320, Scaling::kLog}));
  CHECK(found[0].why.find("The best of the 100 trials of job job-3 has ") == 0);
  CHECK(found[0].why.find("at the upper end 10") != std::string::npos);
  // The new job's range goes on beyond the end of the earlier one: that is no end any more.
  std::vector<Parameter> beyond = kRates;
  std::get<ContinuousRange>(beyond[0].range).max = 1000;
  for (const SuggestedRange& each : SuggestRanges(beyond, {JobOver(kRates, 100, 3, upper)}))
    CHECK_FALSE(each.wider);
}

// A job over x alone, of trials evenly over the range; those with x from `first` to `last` are the good
// quarter.
EarlierJob JobWithGood(const Range& range, double first, double last) {
  EarlierJob job{"even", Goal::kMaximize, {range}, {}};
  const auto& outer = std::get<ContinuousRange>(range);
  for (int i = 0; i < 20; ++i) job.trials.push_back({{std::lerp(first, last, i / 19.0)}, 1});
  for (int i = 0; i < 60; ++i) job.trials.push_back({{std::lerp(outer.min, outer.max, i / 59.0)}, 0});
  return job;
}

TEST_CASE("Suggest ranges: an end of a narrower range that is rounded stays within the old one",
          "[scheduler]") {
  struct {
    ContinuousRange old;
    double first, last;  // of the good trials
    ContinuousRange expected;
  } const cases[] = {{{0.001, 0.5}, 0.053, 0.2, {0.001, 0.25}}, {{0.05, 0.999}, 0.4, 0.9, {0.3, 0.999}}};
  for (const auto& [old, first, last, expected] : cases) {
    const auto found = SuggestRanges({{"x", old}}, {JobWithGood(old, first, last)});
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].wider);
    CHECK(found[0].range == Range(expected));
  }
}

TEST_CASE("Suggest ranges: few integers, rounded outwards, are no narrower range", "[scheduler]") {
  const std::vector<Parameter> parameters = {{"depth", IntegerRange{1, 3}}};
  EarlierJob job{"even", Goal::kMaximize, {parameters[0].range}, {}};
  for (int64_t i = 0; i < 60; ++i) job.trials.push_back({{1 + i % 3}, i % 3 == 1 ? 1.0 : 0.0});
  CHECK(SuggestRanges(parameters, {job}).empty());
}

TEST_CASE("Suggest ranges: a range from 0 on is not extended below, integers stay integers", "[scheduler]") {
  const std::vector<Parameter> parameters = {{"share", ContinuousRange{0, 1}},
                                             {"depth", IntegerRange{1, 20}},
                                             {"log", IntegerRange{1, 1000, Scaling::kLog}}};
  const auto lowest = [](const Configuration& at) {
    return -NumberAt(at, 0) - static_cast<double>(std::get<int64_t>(at[1]));
  };
  for (const SuggestedRange& each : SuggestRanges(parameters, {JobOver(parameters, 400, 1, lowest)})) {
    CAPTURE(each.why);
    if (each.parameter == 0) CHECK(std::get<ContinuousRange>(each.range).min == 0);
    if (each.parameter == 1) CHECK(std::get<IntegerRange>(each.range) == IntegerRange{0, 20});
    CHECK(each.parameter != 2);
  }
}

TEST_CASE("Suggest ranges: listed values that no good trial has are left out", "[scheduler]") {
  const std::vector<Parameter> parameters = {
      {"kind", CategoricalRange{{"a", "b", "c", "d"}}},
      {"width", DiscreteRange{{16, 32, 64}}},
      {"rate", ContinuousRange{0, 1}, Condition{0, {std::string("a")}}}};
  const EarlierJob job = JobOver(parameters, 120, 1, [](const Configuration& at) {
    const std::string& kind = std::get<std::string>(at[0]);
    return (kind == "b" || kind == "d" ? 1 : 0) + NumberAt(at, 1) / 1000;
  });
  const auto found = SuggestRanges(parameters, {job});
  REQUIRE(found.size() >= 1);
  CHECK(found[0].range == Range(CategoricalRange{{"b", "d"}}));
  CHECK(found[0].why.find("None of the 30 good trials has a, c; by chance") == 0);
}

TEST_CASE("Suggest ranges: parameters that a job does not have, or has with other values, say nothing",
          "[scheduler]") {
  EarlierJob job = JobOver(kRates, 100, 1, PeakAtCentiRate);
  job.ranges[0].reset();
  for (EarlierTrial& trial : job.trials) trial.configuration[0] = Inactive{};
  CHECK(SuggestRanges(kRates, {job}).empty());
}

}  // namespace
}  // namespace winnow
