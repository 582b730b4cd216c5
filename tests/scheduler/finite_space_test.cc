#include <set>

#include "scheduler/replay.h"
#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

// 2 * 3 + 1 * 4 = 10 configurations, of which one breaks the constraint.
SearchSpec Nine(SamplerKind sampler, PrunerKind pruner) {
  SearchSpec spec = HasRungs(pruner) ? HyperbandJob(9, 3) : RandomJob(0, 9);
  spec.parameters = {{"method", CategoricalRange{{"a", "b"}}},
                     {"x", IntegerRange{1, 3}, Condition{0, {std::string("a")}}},
                     {"y", DiscreteRange{{1, 2}}, Condition{0, {std::string("a")}}},
                     {"z", IntegerRange{1, 4}, Condition{0, {std::string("b")}}}};
  spec.constraints = {{{{1, 1}, {2, 1}}, 0, 4.5}};
  spec.sampler.kind = sampler;
  spec.pruner.kind = pruner;
  return spec;
}

TEST_CASE("Finite space: every sampler under every pruner tries all of it once, then ends", "[scheduler]") {
  for (SamplerKind sampler : kSamplers) {
    for (PrunerKind pruner : kPruners) {
      if (pruner == PrunerKind::kPbt) continue;  // its population is not the space
      for (int slots : {1, 3, 64}) {
        CAPTURE(static_cast<int>(sampler), static_cast<int>(pruner), slots);
        const SearchSpec spec = Nine(sampler, pruner);
        Simulation simulation = Slots(slots);
        simulation.failure_rate = slots == 3 ? 0.2 : 0;
        simulation.objective = [](const Configuration& configuration, int64_t level) {
          return (configuration[0] == Value(std::string("a")) ? 0.5 : 0.2) +
                 0.01 * static_cast<double>(level);
        };
        const SimulationResult result = Simulate(spec, simulation);
        REQUIRE_FALSE(result.stalled);
        CHECK(result.state.ended()->reason == "The space is exhausted: all 9 configurations were tried.");
        std::set<Configuration> tried;
        for (const TrialState& trial : result.state.trials()) {
          CHECK(result.state.space().Holds(trial.configuration));
          tried.insert(trial.configuration);
        }
        CHECK(tried.size() == 9);
        CHECK(result.state.trials().size() == 9);
        CHECK(Verify(spec, result.facts).ok());
      }
    }
  }
}

}  // namespace
}  // namespace winnow
