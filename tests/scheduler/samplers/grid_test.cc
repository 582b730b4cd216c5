#include "scheduler/samplers/grid.h"

#include "scheduler/simulate.h"
#include "scheduler/space/grid.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

SearchSpec GridJob(std::vector<Parameter> parameters, std::vector<int64_t> points = {}) {
  SearchSpec spec = RandomJob(0, 3);
  spec.parameters = std::move(parameters);
  spec.sampler = {SamplerKind::kGrid, 0, std::move(points)};
  return spec;
}

std::string Points(const SearchSpec& spec) {
  const auto grid = GridOf(spec);
  std::string text;
  for (int64_t i = 0; i < grid->size(); ++i) {
    for (const Value& value : grid->Nth(i)) text += ValueToString(value) + " ";
  }
  return text;
}

SimulationResult Play(const SearchSpec& spec, int slots) {
  Simulation simulation = Slots(slots);
  simulation.objective = [](const Configuration&, int64_t level) { return static_cast<double>(level); };
  return Simulate(spec, simulation);
}

TEST_CASE("Grid: a range's points lie at equal distances on its scale", "[scheduler]") {
  CHECK(Points(GridJob({{"x", ContinuousRange{0, 1}}})) == "0 0.25 0.5 0.75 1 ");
  CHECK(Points(GridJob({{"x", IntegerRange{0, 100}}})) == "0 25 50 75 100 ");
  CHECK(Points(GridJob({{"x", IntegerRange{1, 10'000, Scaling::kLog}}})) == "1 10 100 1000 10000 ");
  CHECK(Points(GridJob({{"x", IntegerRange{1, 1000, Scaling::kReverseLog}}}, {4})) == "1 901 991 1000 ");
  CHECK(Points(GridJob({{"x", IntegerRange{INT64_MIN, INT64_MAX}}}, {3})) ==
        "-9223372036854775808 0 9223372036854775807 ");
}

TEST_CASE("Grid: small ranges, discrete ones and categories take every value", "[scheduler]") {
  CHECK(Points(GridJob({{"x", IntegerRange{3, 7}}}, {})) == "3 4 5 6 7 ");
  CHECK(Points(GridJob({{"x", DiscreteRange{{1, 2, 3, 4, 5, 6, 7.5}}}})) == "1 2 3 4 5 6 7.5 ");
  CHECK(Points(GridJob({{"x", CategoricalRange{{"b", "a"}}}})) == "b a ");
}

TEST_CASE("Grid: the counts are those of continuous and wide integer ranges, in their order", "[scheduler]") {
  CHECK(Points(GridJob({{"x", ContinuousRange{0, 1}}, {"n", IntegerRange{1, 2}}, {"y", IntegerRange{1, 9}}},
                       {2, 1})) == "0 1 5 0 2 5 1 1 5 1 2 5 ");
  CHECK(GridOf(GridJob({{"y", IntegerRange{1, 9}}}, {20}))->size() == 9);
  CHECK(GridOf(GridJob({{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}}, {1024, 1025})) ==
        nullptr);
}

TEST_CASE("Grid: a job ends when every point was tried once, at any parallelism", "[scheduler]") {
  SearchSpec spec = GridJob({{"x", ContinuousRange{0, 1}},
                             {"kind", CategoricalRange{{"a", "b"}}},
                             {"n", IntegerRange{1, 3}, Condition{1, {std::string("b")}}}});
  spec.constraints = {{{{0, 1}, {2, 1}}, 0, 3.5}};
  for (int slots : {1, 7}) {
    const SimulationResult result = Play(spec, slots);
    CHECK(result.state.ended()->reason == "The grid's 18 points were tried.");
    std::set<Configuration> tried;
    for (const TrialState& trial : result.state.trials()) tried.insert(trial.configuration);
    CHECK(tried.size() == 18);
    CHECK(result.state.trials().size() == 18);
  }
}

TEST_CASE("Grid: initial configurations come first, and none is tried again", "[scheduler]") {
  SearchSpec spec = GridJob({{"x", ContinuousRange{0, 1}}});
  spec.initial = {{0.3}, {0.5}, {0.0}};
  const SimulationResult result = Play(spec, 2);
  std::string order;
  for (const TrialState& trial : result.state.trials()) order += ValueToString(trial.configuration[0]) + " ";
  CHECK(order == "0.3 0.5 0 0.25 0.75 1 ");
  CHECK(result.state.trial(4).configuration[0] == Value(0.25));
}

TEST_CASE("Grid: max_trials ends it before, and says so", "[scheduler]") {
  SearchSpec spec = GridJob({{"x", ContinuousRange{0, 1}}});
  spec.limits.max_trials = 3;
  const SimulationResult result = Play(spec, 2);
  CHECK(result.state.trials().size() == 3);
  CHECK(result.state.ended()->reason == "All 3 trials have ended.");
}

TEST_CASE("Grid: of a million points any one is drawn at once", "[scheduler]") {
  const SearchSpec spec = GridJob(
      {{"x", ContinuousRange{0, 1}}, {"y", ContinuousRange{0, 1}}, {"n", IntegerRange{1, 4}}}, {512, 512});
  const JobState state(spec);
  CHECK(state.most_trials() == 1 << 20);
  CHECK(GridSampler().Draw(state, 1 << 20, 0)->configuration == Configuration{1.0, 1.0, int64_t{4}});
}

}  // namespace
}  // namespace winnow
