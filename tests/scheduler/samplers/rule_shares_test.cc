#include "scheduler/samplers/rule_shares.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/scheduler/jobs.h"

namespace winnow {
namespace {

SimulationResult Play(const std::function<double(double x, double y, int64_t resource)>& value,
                      uint64_t seed = 1) {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.seed = seed;
  spec.parameters.push_back({"y", ContinuousRange{0, 1}});
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  spec.limits.max_total_resource = 600;
  Simulation simulation = Slots(1);
  simulation.objective = [&](const Configuration& configuration, int64_t resource) {
    return value(std::get<double>(configuration[0]), std::get<double>(configuration[1]), resource);
  };
  return Simulate(spec, simulation);
}

double SumOf(const RuleShares& shares) {
  return shares.straight + shares.breadth + shares.density + shares.model;
}

TEST_CASE("Rule shares: before there is evidence breadth has most, and all add up to 1", "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  const RuleShares shares = SharesOf(JobState(spec));
  CHECK(SumOf(shares) == Approx(1));
  CHECK(shares.breadth > shares.model);
  CHECK(shares.model > shares.density);
  CHECK(shares.density > 0);
  CHECK(shares.Of(SuggestionRule::kBreadth) == shares.breadth);
  CHECK(shares.Of(SuggestionRule::kStart) == 0);
}

TEST_CASE("Rule shares: with several objectives the model has most before there is evidence", "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  spec.objectives = {{"left", Goal::kMinimize, {}}, {"right", Goal::kMinimize, {}}};
  spec.objective_metric = "left";
  const RuleShares shares = SharesOf(JobState(spec));
  CHECK(SumOf(shares) == Approx(1));
  CHECK(shares.model > shares.breadth + shares.density);
  CHECK(shares.breadth > shares.density);
}

// The shares of a single job are partly luck: breadth earns half of a record where it promotes what the
// model made.
TEST_CASE("Rule shares: on a smooth landscape the model earns more of the training than breadth and density",
          "[scheduler]") {
  RuleShares sum;
  for (const uint64_t seed : {1, 2, 3, 4, 5}) {
    const SimulationResult result = Play(
        [](double x, double y, int64_t resource) {
          return -(x - 0.3) * (x - 0.3) - (y - 0.6) * (y - 0.6) -
                 0.5 / std::sqrt(static_cast<double>(resource));
        },
        seed);
    const RuleShares shares = SharesOf(result.state);
    CHECK(SumOf(shares) == Approx(1));
    CHECK(shares.breadth > 0.05);  // the floor
    sum.breadth += shares.breadth;
    sum.density += shares.density;
    sum.model += shares.model;
  }
  CHECK(sum.model > sum.breadth + sum.density);
}

TEST_CASE("Rule shares: where beginnings mislead more goes straight than where they do not", "[scheduler]") {
  const auto end = [](double x, double y) { return -(x - 0.3) * (x - 0.3) - (y - 0.6) * (y - 0.6); };
  const SimulationResult told = Play([&](double x, double y, int64_t) { return end(x, y); });
  const SimulationResult misled =
      Play([&](double x, double y, int64_t resource) { return resource == 27 ? 2 + end(x, y) : -end(x, y); });
  CHECK(SharesOf(told.state).straight < 0.1);
  CHECK(SharesOf(misled.state).straight > 0.3);
}

// After trials that had 0.5 at the lowest rung and then these values at the end.
double StraightAfterTies(std::initializer_list<double> ends) {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kGp;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  JobState state(spec);
  const auto record = [&state](FactBody body) {
    state.Apply({state.last_sequence() + 1, 0, std::move(body)});
  };
  TrialNumber number = 0;
  for (const double end : ends) {
    ++number;
    record(TrialCreated{number, {0.1 * static_cast<double>(number)}, 0, 3, 27});
    record(AttemptStarted{number, 1, 0, 27});
    record(Reported{number, 1, 1, 0.5});
    record(Reported{number, 1, 27, end});
    record(AttemptEnded{number, 1, AttemptOutcome::kFinished, "", 0, 0});
    record(TrialEnded{number, TrialEnd::kCompleted, ""});
  }
  return SharesOf(state).straight;
}

TEST_CASE("Rule shares: trials that are equal at a rung say nothing, whichever is newer", "[scheduler]") {
  CHECK(StraightAfterTies({0.6, 0.7, 0.8}) == StraightAfterTies({0.8, 0.7, 0.6}));
  CHECK(StraightAfterTies({0.6, 0.7, 0.8}) == StraightAfterTies({}));
}

TEST_CASE("Rule shares: with a sampler of the user's choice density has none", "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);
  spec.sampler.kind = SamplerKind::kRandom;
  spec.pruner.kind = PrunerKind::kFreezeThaw;
  const RuleShares shares = SharesOf(JobState(spec));
  CHECK(shares.density == 0);
  CHECK(SumOf(shares) == Approx(1));
}

}  // namespace
}  // namespace winnow
