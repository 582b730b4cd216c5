#include "scheduler/samplers/priors.h"

#include <algorithm>
#include <cmath>

#include "scheduler/replay.h"
#include "scheduler/samplers/random.h"
#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"
#include "tests/scheduler/samplers/bowl.h"

namespace winnow {
namespace {

// x and y of BowlJob, believed to be best at these values.
SearchSpec Believing(SearchSpec spec, double x, double y, Confidence confidence = Confidence::kHigh) {
  spec.parameters[0].prior = Prior{x, confidence};
  spec.parameters[1].prior = Prior{y, confidence};
  return spec;
}

// With a kind that has a rate where it is "b", and a size.
SearchSpec Mixed() {
  SearchSpec spec = RandomJob(0, 1);
  spec.parameters = {{"kind", CategoricalRange{{"a", "b", "c", "d"}}},
                     {"rate", ContinuousRange{1e-4, 1, Scaling::kLog}, Condition{0, {std::string("b")}}},
                     {"size", IntegerRange{1, 10}},
                     {"share", DiscreteRange{{0.1, 0.2, 0.5}}}};
  spec.parameters[0].prior = Prior{std::string("c"), Confidence::kHigh};
  spec.parameters[1].prior = Prior{0.01, Confidence::kMedium};
  spec.parameters[2].prior = Prior{int64_t{9}, Confidence::kLow};
  return spec;
}

// The part of `draws` draws that `holds`, from an even spread of uniform numbers.
template <typename Holds>
double PartOf(const PriorDensity& density, const Holds& holds) {
  constexpr int kDraws = 10'000;
  int count = 0;
  for (int i = 0; i < kDraws; ++i) count += holds(density.Quantile((i + 0.5) / kDraws)) ? 1 : 0;
  return static_cast<double>(count) / kDraws;
}

TEST_CASE("Prior density: a number's has the mean 1, its peak at the value, and draws as it says",
          "[scheduler]") {
  for (const Confidence confidence : {Confidence::kLow, Confidence::kMedium, Confidence::kHigh}) {
    for (const double middle : {0.0, 0.3, 1.0}) {
      const PriorDensity density(confidence, middle, 0);
      double below = 0, sum = 0;
      constexpr int kSteps = 10'000;
      for (int i = 0; i < kSteps; ++i) {
        const double at = (i + 0.5) / kSteps;
        sum += density.At(at) / kSteps;
        if (at < 0.4) below += density.At(at) / kSteps;
      }
      CHECK(sum == Approx(1).epsilon(1e-3));
      CHECK(density.Shape(middle) == 1);
      CHECK(density.Slope(0.4) ==
            Approx((density.Shape(0.401) - density.Shape(0.399)) / 0.002).epsilon(1e-2));
      CHECK(PartOf(density, [](double at) { return at < 0.4; }) == Approx(below).margin(1e-3));
    }
  }
  CHECK(PriorDensity(Confidence::kHigh, 0.5, 0).At(0.5) > PriorDensity(Confidence::kLow, 0.5, 0).At(0.5));
}

TEST_CASE("Prior density: a category is some times as likely as each other one", "[scheduler]") {
  const PriorDensity density(Confidence::kMedium, 2, 4);
  CHECK(density.At(2) == Approx(4 * density.At(0)));
  CHECK(density.At(0) + density.At(1) + density.At(2) + density.At(3) == Approx(4));
  for (const int category : {0, 1, 2, 3}) {
    CHECK(PartOf(density, [&](double at) { return at == category; }) ==
          Approx(density.At(category) / 4).margin(1e-3));
  }
  CHECK(PriorDensity(Confidence::kHigh, 0, 1).Quantile(0.99) == 0);
}

TEST_CASE("Priors: their values are tried first by every sampler, before anything else of its own",
          "[scheduler]") {
  for (const SamplerKind kind :
       {SamplerKind::kRandom, SamplerKind::kSobol, SamplerKind::kGp, SamplerKind::kTpe}) {
    for (const PrunerKind pruner : {PrunerKind::kNone, PrunerKind::kFreezeThaw, PrunerKind::kHyperband}) {
      SearchSpec spec = Mixed();
      spec.sampler.kind = kind;
      spec.pruner.kind = pruner;
      spec.pruner.rungs.max_resource = 9;
      spec.initial = {{std::string("b"), 0.5, int64_t{1}, 0.1}};
      spec.limits.max_trials = 2;
      Simulation simulation = Slots(1);
      simulation.objective = [](const Configuration&, int64_t level) { return static_cast<double>(level); };
      const SimulationResult result = Simulate(spec, simulation);
      REQUIRE(result.state.trials().size() == 2);
      // kind c has no rate; share has no prior.
      CHECK(result.state.trial(2).configuration ==
            Configuration{std::string("c"), Inactive{}, int64_t{9}, 0.2});
    }
  }
}

TEST_CASE("Priors: values that break a constraint are not tried", "[scheduler]") {
  SearchSpec spec = Believing(BowlJob(SamplerKind::kRandom, 30), 0.9, 0.9);
  spec.constraints = {{{{0, 1}, {1, 1}}, 0, 1.2}};
  Simulation simulation = Slots(1);
  simulation.objective = Bowl;
  const SimulationResult result = Simulate(spec, simulation);
  REQUIRE(result.state.trials().size() == 30);
  for (const TrialState& trial : result.state.trials())
    CHECK(result.state.space().Holds(trial.configuration));
}

TEST_CASE("Priors: half of the first draws without a model come from them, and ever fewer later",
          "[scheduler]") {
  for (const SamplerKind kind : {SamplerKind::kRandom, SamplerKind::kSobol}) {
    double first = 0, later = 0;
    for (uint64_t seed = 1; seed <= 40; ++seed) {
      SearchSpec spec = Believing(BowlJob(kind, 0), 0.1, 0.9);
      spec.seed = seed;
      const JobState state(spec);
      for (TrialNumber number = 2; number <= 200; ++number) {
        const auto drawn = SamplerOf(spec).Draw(state, number, 0);
        const bool said = drawn->why.find("job's priors") != std::string::npos;
        CHECK(said == DrawsFromPriors(spec, number));
        if (number <= 4) first += said ? 1.0 / 3 / 40 : 0;
        if (number > 100) later += said ? 1.0 / 100 / 40 : 0;
        if (!said) continue;
        // Four deviations.
        CHECK(std::get<double>(drawn->configuration[0]) < 0.6);
        CHECK(std::get<double>(drawn->configuration[1]) > 0.4);
      }
    }
    CHECK(first == Approx(0.5).margin(0.15));
    CHECK(later == Approx(0.014).margin(0.006));
  }
}

TEST_CASE("Priors: a job without them draws as before", "[scheduler]") {
  const SearchSpec spec = BowlJob(SamplerKind::kRandom, 0);
  const JobState state(spec);
  for (TrialNumber number = 1; number <= 20; ++number) {
    CHECK(SamplerOf(spec).Draw(state, number, 0)->configuration ==
          RandomConfiguration(spec, state.space(), number));
  }
}

// Weights after `trials` trials, whose best results are all at (x, y).
PriorWeights WeightsAfter(const PlayedJob& job, const UnitPoints& points, int64_t results, double x,
                          double y) {
  return {job.state(), points, results, [=](size_t) { return Eigen::Vector2d(x, y); }};
}

TEST_CASE("Prior weights: start whole, fall with the trials, and vanish where results contradict",
          "[scheduler]") {
  PlayedJob job(Believing(BowlJob(SamplerKind::kRandom, 0), 0.1, 0.9));
  const UnitPoints points(job.state().space());
  CHECK(WeightsAfter(job, points, 0, 0, 0).strength() == 1);
  const double near = WeightsAfter(job, points, 30, 0.1, 0.9).strength();
  CHECK(near > 0.5);
  CHECK(WeightsAfter(job, points, 30, 0.9, 0.1).strength() == 0);
  // A belief in one parameter does not suffer from another's.
  const PriorWeights half = WeightsAfter(job, points, 30, 0.1, 0.1);
  CHECK(half.strength() == Approx(near / 2));
  CHECK(half.Log(Eigen::Vector2d(0.1, 0)) == 0);
  CHECK(half.Log(Eigen::Vector2d(0.9, 0.9)) < -1);
  while (job.state().trials().size() < 40) job.Finish(job.Start(), 1);
  CHECK(WeightsAfter(job, points, 30, 0.1, 0.9).strength() == Approx(near / 4));
  CHECK(WeightsAfter(job, points, 30, 0.9, 0.1).Text() == "");
  CHECK(WeightsAfter(job, points, 0, 0, 0).Text() == ", the job's priors at 25 % of their first weight");
}

TEST_CASE("Prior weights: Log falls away from the values as its slope says, and skips what is inactive",
          "[scheduler]") {
  PlayedJob job(Believing(BowlJob(SamplerKind::kRandom, 0), 0.2, 0.7, Confidence::kMedium));
  const UnitPoints points(job.state().space());
  const PriorWeights weights = WeightsAfter(job, points, 0, 0, 0);
  const Eigen::Vector2d at(0.35, 0.4);
  Eigen::VectorXd slope = Eigen::VectorXd::Zero(2);
  weights.AddSlope(at, slope);
  for (int j = 0; j < 2; ++j) {
    Eigen::Vector2d step = Eigen::Vector2d::Zero();
    step[j] = 1e-5;
    CHECK(slope[j] == Approx((weights.Log(at + step) - weights.Log(at - step)) / 2e-5).epsilon(1e-4));
  }
  CHECK(weights.Log(Eigen::Vector2d(0.2, 0.7)) == 0);
  CHECK(weights.Log(Eigen::Vector2d(NAN, 0.7)) == 0);
}

TEST_CASE("Priors: a right one finds the bottom sooner, a wrong one is overcome", "[scheduler]") {
  for (const SamplerKind kind : {SamplerKind::kGp, SamplerKind::kTpe}) {
    const auto best = [kind](int64_t trials, std::optional<double> x, double y) {
      const SearchSpec spec = BowlJob(kind, trials);
      return MedianBest(x ? Believing(spec, *x, y) : spec, Bowl);
    };
    CAPTURE(static_cast<int>(kind));
    const double right = best(5, 0.36, 0.55), without = best(5, {}, 0);
    CHECK(right < without / 2);
    // The corner opposite to the bottom.
    const double wrong = best(40, 1, 0), later = best(40, {}, 0);
    CHECK(wrong < 2 * later);
    CHECK(wrong < 0.003);
  }
}

TEST_CASE("Priors: jobs of every strategy replay to the bit", "[scheduler]") {
  for (const Strategy& strategy :
       {Strategy{SamplerKind::kGp, PrunerKind::kFreezeThaw}, Strategy{SamplerKind::kGp, PrunerKind::kNone},
        Strategy{SamplerKind::kTpe, PrunerKind::kHyperband},
        Strategy{SamplerKind::kSobol, PrunerKind::kAsha}}) {
    SearchSpec spec = Believing(BowlJob(strategy.sampler, 40), 0.8, 0.2, Confidence::kLow);
    spec.pruner.kind = strategy.pruner;
    spec.pruner.rungs.max_resource = 9;
    Simulation simulation = Slots(3);
    simulation.objective = [](const Configuration& at, int64_t level) {
      return Bowl(at, 1) + 1.0 / static_cast<double>(level);
    };
    const SimulationResult result = Simulate(spec, simulation);
    CHECK(result.state.ended());
    CHECK(Verify(spec, result.facts).ok());
  }
}

}  // namespace
}  // namespace winnow
