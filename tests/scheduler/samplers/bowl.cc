#include "tests/scheduler/samplers/bowl.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/simulate.h"
#include "scheduler/space/random.h"
#include "scheduler/suggest.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {

SearchSpec BowlJob(SamplerKind sampler, int64_t max_trials) {
  SearchSpec spec = RandomJob(max_trials, 1);
  spec.parameters.push_back({"y", ContinuousRange{0, 1}});
  spec.sampler.kind = sampler;
  spec.goal = Goal::kMinimize;
  return spec;
}

double Bowl(const Configuration& configuration, int64_t) {
  const double x = std::get<double>(configuration[0]) - 0.3, y = std::get<double>(configuration[1]) - 0.6;
  return x * x + y * y;
}

double MedianBest(SearchSpec spec, const CurveFunction& objective) {
  std::vector<double> best;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    spec.seed = seed;
    Simulation simulation = Slots(1);
    simulation.objective = objective;
    const SimulationResult result = Simulate(spec, simulation);
    best.push_back(result.state.trial(*result.state.best_trial()).best_objective);
  }
  std::nth_element(best.begin(), best.begin() + 10, best.end());
  return best[10];
}

Spread SpreadOfBatch(const SearchSpec& spec, const CurveFunction& objective) {
  PlayedJob job(spec);
  for (TrialNumber number = 1; number <= 20; ++number) {
    if (WantsSuggestion(job.state())) job.Record(Suggest(job.state()));
    REQUIRE(job.Start() == number);
    job.Finish(number, objective(job.trial(number).configuration, 1));
  }
  for (TrialNumber number = 21; number <= 28; ++number) {
    REQUIRE(WantsSuggestion(job.state()));
    job.Record(Suggest(job.state()));
    REQUIRE(job.Start() == number);
  }
  Spread spread;
  for (TrialNumber a = 21; a <= 28; ++a) {
    for (TrialNumber b = 21; b < a; ++b) {
      const Configuration &one = job.trial(a).configuration, &other = job.trial(b).configuration;
      const double distance = std::hypot(std::get<double>(one[0]) - std::get<double>(other[0]),
                                         std::get<double>(one[1]) - std::get<double>(other[1]));
      spread.nearest = std::min(spread.nearest, distance);
      spread.farthest = std::max(spread.farthest, distance);
    }
  }
  return spread;
}

Suggested FirstAfterEarlier(const SearchSpec& spec) {
  PlayedJob job(spec);
  for (uint64_t i = 0; i < 30; ++i) {
    const Configuration configuration = {RandomUnit(3, 1, Purpose::kSimulation, 2 * i),
                                         RandomUnit(3, 1, Purpose::kSimulation, 2 * i + 1)};
    job.Record(EarlierResult{configuration, Bowl(configuration, 1), 0, "before"});
  }
  REQUIRE(WantsSuggestion(job.state()));
  return Suggest(job.state());
}

}  // namespace winnow
