#include "scheduler/samplers/tpe.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/replay.h"
#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "scheduler/suggest.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"
#include "tests/scheduler/samplers/bowl.h"

namespace winnow {
namespace {

TEST_CASE("Tpe: finds the bottom of a bowl far better than random search", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kTpe, 50);
  const double tpe = MedianBest(spec, Bowl);
  spec.sampler.kind = SamplerKind::kRandom;
  CHECK(tpe < MedianBest(spec, Bowl) / 8);
}

TEST_CASE("Tpe: finds the best category and the value that only it has", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kTpe, 60);
  spec.parameters = {{"kind", CategoricalRange{{"a", "b", "c", "d", "e"}}},
                     {"size", IntegerRange{1, 1000, Scaling::kLog}, Condition{0, {std::string("d")}}},
                     {"rate", ContinuousRange{0, 1}}};
  const auto objective = [](const Configuration& configuration, int64_t) {
    const double rate = std::get<double>(configuration[2]) - 0.5;
    const auto* size = std::get_if<int64_t>(&configuration[1]);
    return rate * rate + (size == nullptr ? 0.5 : 0.1 * std::abs(std::log10(static_cast<double>(*size)) - 2));
  };
  const double tpe = MedianBest(spec, objective);
  spec.sampler.kind = SamplerKind::kRandom;
  CHECK(tpe < MedianBest(spec, objective) / 2);
}

TEST_CASE("Tpe: a batch of eight after twenty trials is eight different, spread configurations",
          "[scheduler]") {
  const Spread spread = SpreadOfBatch(BowlJob(SamplerKind::kTpe, 0), Bowl);
  CHECK(spread.nearest > 0.005);
  CHECK(spread.farthest > 0.2);
}

TEST_CASE("Tpe: begins with Sobol points, and says what it does then", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kTpe, 8);
  spec.sampler.startup_trials = 5;
  Simulation simulation = Slots(1);
  simulation.objective = Bowl;
  const SimulationResult result = Simulate(spec, simulation);
  std::vector<std::string> why;
  for (const Fact& fact : result.facts) {
    if (const auto* created = std::get_if<TrialCreated>(&fact.body)) why.push_back(created->why);
  }
  CHECK(why[4] == "Point 5 of a scrambled Sobol sequence.");
  CHECK(why[5].find("TPE on 5 trials: ") == 0);
  CHECK(why[5].find(" times as dense among the best 1 as among the others.") != std::string::npos);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Tpe: under rungs it learns from the highest one that enough trials have passed", "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kTpe;
  const SimulationResult result = Simulate(spec, Slots(1));
  std::set<std::string> levels;
  int at_random = 0, asked = 0;
  for (const Fact& fact : result.facts) {
    const auto* created = std::get_if<TrialCreated>(&fact.body);
    if (created == nullptr) continue;
    at_random += created->why.find("Drawn at random, as a third") == 0 ? 1 : 0;
    const size_t at = created->why.find(" at resource ");
    if (at == std::string::npos) continue;
    ++asked;
    levels.insert(created->why.substr(at + 13, created->why.find(':') - at - 13));
  }
  CHECK(levels == std::set<std::string>{"1", "9", "27"});
  const int created = static_cast<int>(result.state.trials().size()) - 4;  // without Sobol points
  CHECK(asked + at_random == created);
  CHECK(std::abs(at_random - created / 3) <= 5);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Tpe: what a job is started with is its experience from the first trial on", "[scheduler]") {
  const Suggested answer = FirstAfterEarlier(BowlJob(SamplerKind::kTpe, 0));
  CHECK(answer.why.find("TPE on 30 trials: ") == 0);
  CHECK(Bowl(answer.configuration, 1) < 0.1);
}

TEST_CASE("Tpe: configurations keep the constraints and are not repeated", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kTpe, 40);
  spec.parameters = {{"a", IntegerRange{1, 9}}, {"b", IntegerRange{1, 9}}};
  spec.constraints = {{{{0, 1}, {1, 1}}, 0, 11}};
  Simulation simulation = Slots(5);
  simulation.failure_rate = 0.3;
  simulation.objective = [](const Configuration& configuration, int64_t) {
    return -static_cast<double>(std::get<int64_t>(configuration[0]) * std::get<int64_t>(configuration[1]));
  };
  const SimulationResult result = Simulate(spec, simulation);
  std::set<Configuration> tried;
  for (const TrialState& trial : result.state.trials()) {
    CHECK(result.state.space().Holds(trial.configuration));
    tried.insert(trial.configuration);
  }
  CHECK(tried.size() == 40);
  CHECK(result.state.trial(*result.state.best_trial()).best_objective == -30);
}

}  // namespace
}  // namespace winnow
