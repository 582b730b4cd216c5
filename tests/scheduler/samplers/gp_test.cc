#include "scheduler/samplers/gp.h"

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

SimulationResult Run(const SearchSpec& spec, int slots, const CurveFunction& objective) {
  Simulation simulation = Slots(slots);
  simulation.objective = objective;
  return Simulate(spec, simulation);
}

std::set<Configuration> Tried(const SimulationResult& result) {
  std::set<Configuration> tried;
  for (const TrialState& trial : result.state.trials()) {
    CHECK(result.state.space().Holds(trial.configuration));
    tried.insert(trial.configuration);
  }
  return tried;
}

TEST_CASE("Gp: finds the bottom of a bowl far better than random search", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 20);
  const double gp = MedianBest(spec, Bowl);
  spec.sampler.kind = SamplerKind::kRandom;
  CHECK(gp < MedianBest(spec, Bowl) / 20);
}

TEST_CASE("Gp: maximising is minimising the other way round", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 14);
  const SimulationResult down = Run(spec, 2, Bowl);
  spec.goal = Goal::kMaximize;
  const SimulationResult up = Run(spec, 2, [](const Configuration& at, int64_t) { return -Bowl(at, 1); });
  for (TrialNumber number = 1; number <= 14; ++number)
    CHECK(up.state.trial(number).configuration == down.state.trial(number).configuration);
}

TEST_CASE("Gp: a batch of eight after twenty trials is eight different, spread configurations",
          "[scheduler]") {
  const Spread spread = SpreadOfBatch(BowlJob(SamplerKind::kGp, 0), [](const Configuration& at, int64_t) {
    return Bowl(at, 1) + 0.3 * std::sin(20 * std::get<double>(at[0]));
  });
  CHECK(spread.nearest > 0.0001);
  CHECK(spread.farthest > 0.2);
}

TEST_CASE("Gp: begins with Sobol points, and says what it expects then", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 12);
  spec.sampler.startup_trials = 5;
  const SimulationResult result = Run(spec, 1, Bowl);
  std::vector<std::string> why;
  for (const Fact& fact : result.facts) {
    if (const auto* created = std::get_if<TrialCreated>(&fact.body)) why.push_back(created->why);
  }
  for (const std::string& each : why) UNSCOPED_INFO(each);
  CHECK(why[4] == "Point 5 of a scrambled Sobol sequence.");
  for (size_t i = 5; i < 12; ++i) {
    CHECK(why[i].find("Gaussian process on " + std::to_string(i) + " results: expected score ") == 0);
    CHECK(why[i].find(" % chance to beat ") != std::string::npos);
    CHECK(why[i].back() == '.');
  }
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Gp: of whole trials four points come first, and then the model and a point in turn",
          "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 18);
  for (const char* name : {"c", "d", "e", "f", "g", "h", "i"})
    spec.parameters.push_back({name, ContinuousRange{0, 1}});
  REQUIRE(StartupTrials(spec) == 10);
  // A letter a trial: p a point, m the model.
  const auto choices = [&](int slots) {
    const SimulationResult result = Run(spec, slots, Bowl);
    CHECK(Verify(spec, result.facts).ok());
    CHECK(Tried(result).size() == 18);
    std::string letters;
    for (const Fact& fact : result.facts) {
      if (const auto* created = std::get_if<TrialCreated>(&fact.body))
        letters += created->why.find("Point ") == 0 ? 'p' : 'm';
    }
    return letters;
  };
  CHECK(choices(1) == "ppppmpmpmpmmmmmmmm");
  // With more slots there is not always a result for each point before.
  CHECK(choices(8).substr(0, 8) == "pppppppp");
  spec.sampler.startup_trials = 10;  // the user's own number of points comes first
  CHECK(choices(1) == "ppppppppppmmmmmmmm");
}

TEST_CASE("Gp: 200 suggestions of a conditional, constrained space all keep it", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 200);
  spec.parameters = {{"a", ContinuousRange{0, 1}},
                     {"kind", CategoricalRange{{"tree", "line"}}},
                     {"depth", IntegerRange{2, 40}, Condition{1, {std::string("tree")}}},
                     {"b", ContinuousRange{0, 1}}};
  spec.constraints = {{{{0, 1}, {3, 1}}, 0, 1}, {{{0, 1}, {2, 0.1}}, 0.5, 3}};
  const SimulationResult result = Run(spec, 8, [](const Configuration& at, int64_t) {
    const double a = std::get<double>(at[0]), b = std::get<double>(at[3]);
    return std::holds_alternative<Inactive>(at[2]) ? 1 - a : 1 - a - b;  // best outside of the constraints
  });
  CHECK(result.state.trials().size() == 200);
  CHECK(Tried(result).size() == 200);
  CHECK(result.state.trial(*result.state.best_trial()).best_objective < 0.02);
}

TEST_CASE("Gp: a finite space is tried without a repeat, to its end", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 0);
  spec.parameters = {{"a", IntegerRange{1, 5}}, {"kind", CategoricalRange{{"p", "q", "r"}}}};
  const SimulationResult result = Run(spec, 3, [](const Configuration& at, int64_t) {
    return static_cast<double>(std::get<int64_t>(at[0]));
  });
  CHECK(Tried(result).size() == 15);
  CHECK(result.state.trials().size() == 15);
  CHECK(result.state.ended()->reason == "The space is exhausted: all 15 configurations were tried.");
}

TEST_CASE("Gp: a finite space whose values are no numbers is tried without a repeat too", "[scheduler]") {
  for (const PrunerKind pruner : {PrunerKind::kNone, PrunerKind::kFreezeThaw}) {
    SearchSpec spec = pruner == PrunerKind::kNone ? BowlJob(SamplerKind::kGp, 0) : HyperbandJob(9, 3);
    spec.sampler.kind = SamplerKind::kGp;
    spec.pruner.kind = pruner;
    spec.parameters = {{"a", IntegerRange{1, 5}}, {"kind", CategoricalRange{{"p", "q", "r"}}}};
    const SimulationResult result = Run(spec, 2, [](const Configuration&, int64_t) { return std::nan(""); });
    CHECK_FALSE(result.stalled);
    CHECK(Tried(result).size() == 15);
    CHECK(result.state.trials().size() == 15);
  }
}

TEST_CASE("Gp: spaces of one parameter, of categories only and of integers only", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 16);
  spec.parameters = {{"x", ContinuousRange{1e-4, 1, Scaling::kLog}}};
  const SimulationResult one = Run(spec, 1, [](const Configuration& at, int64_t) {
    return std::abs(std::log10(std::get<double>(at[0])) + 2);
  });
  CHECK(one.state.trial(*one.state.best_trial()).best_objective < 0.05);

  const CategoricalRange letters{{"a", "b", "c", "d", "e"}};
  spec.parameters = {{"p", letters}, {"q", letters}, {"r", letters}};
  spec.limits.max_trials = 40;
  const SimulationResult categories = Run(spec, 2, [](const Configuration& at, int64_t) {
    double wrong = 0;
    for (const Value& value : at) wrong += std::get<std::string>(value) == "d" ? 0 : 1;
    return wrong;
  });
  CHECK(Tried(categories).size() == 40);
  CHECK(categories.state.trial(*categories.state.best_trial()).best_objective == 0);

  spec.parameters = {{"m", IntegerRange{1, 100}}, {"n", IntegerRange{1, 100}}};
  const SimulationResult integers = Run(spec, 2, [](const Configuration& at, int64_t) {
    return std::abs(static_cast<double>(std::get<int64_t>(at[0]) - 71)) +
           std::abs(static_cast<double>(std::get<int64_t>(at[1]) - 22));
  });
  CHECK(Tried(integers).size() == 40);
  CHECK(integers.state.trial(*integers.state.best_trial()).best_objective <= 4);
}

TEST_CASE("Gp: what a job is started with is its experience from the first trial on", "[scheduler]") {
  const Suggested answer = FirstAfterEarlier(BowlJob(SamplerKind::kGp, 0));
  CHECK(answer.why.find("Gaussian process on 30 results: ") == 0);
  CHECK(Bowl(answer.configuration, 1) < 0.05);
}

TEST_CASE("Gp: jobs with failing trials, in parallel, verify", "[scheduler]") {
  SearchSpec spec = BowlJob(SamplerKind::kGp, 24);
  Simulation simulation = Slots(4);
  simulation.objective = Bowl;
  simulation.failure_rate = 0.3;
  const SimulationResult result = Simulate(spec, simulation);
  CHECK(Tried(result).size() == 24);
  CHECK(Verify(spec, result.facts).ok());
}

TEST_CASE("Gp: a chance lies between none and certainty, half where it expects the best", "[scheduler]") {
  CHECK(ChanceToBeat({1, 0.04}, 1) == Approx(0.5));
  CHECK(ChanceToBeat({1, 0}, 2) == 0);
  CHECK(ChanceToBeat({3, 0}, 2) == 1);
  CHECK(ChanceToBeat({1, 0.04}, 1.2) == Approx(0.1587).margin(1e-4));
}

}  // namespace
}  // namespace winnow
