#include "scheduler/samplers/transfer.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/replay.h"
#include "scheduler/samplers/random.h"
#include "scheduler/simulate.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/samplers/bowl.h"

namespace winnow {
namespace {

// So many results of an earlier job over BowlJob's space, at random places.
std::vector<EarlierResult> EarlierBowl(int count, const CurveFunction& objective,
                                       const std::string& job = "job old") {
  const SearchSpec spec = BowlJob(SamplerKind::kRandom, 0);
  const SearchSpace space(spec.parameters);
  std::vector<EarlierResult> results;
  for (TrialNumber number = 1; number <= count; ++number) {
    const Configuration drawn = RandomConfiguration(spec, space, 1000 + number);
    results.push_back({drawn, objective(drawn, 1), 0, job + ", trial " + std::to_string(number)});
  }
  return results;
}

// On other data: another optimum nearby, another size, another offset.
double OtherBowl(const Configuration& at, int64_t) {
  const double x = std::get<double>(at[0]) - 0.35, y = std::get<double>(at[1]) - 0.55;
  return 300 + 40 * (x * x + y * y);
}
// Whose best is the job's worst.
double RisingBowl(const Configuration& at, int64_t level) { return -Bowl(at, level); }

double MedianBestAfter(SearchSpec spec, const std::vector<EarlierResult>& earlier) {
  std::vector<double> best;
  for (uint64_t seed = 1; seed <= 15; ++seed) {
    spec.seed = seed;
    Simulation simulation = Slots(1);
    simulation.objective = Bowl;
    simulation.earlier = earlier;
    const SimulationResult result = Simulate(spec, simulation);
    best.push_back(result.state.trial(*result.state.best_trial()).best_objective);
  }
  std::nth_element(best.begin(), best.begin() + 7, best.end());
  return best[7];
}

TEST_CASE("Transfer: results are taken by source, the best first, and an even choice of the others",
          "[scheduler]") {
  std::vector<EarlierResult> results;
  for (int i = 0; i < 100; ++i)
    results.push_back({{0.5}, static_cast<double>(i), 0, "job a, trial " + std::to_string(i)});
  results.push_back({{0.5}, 7, 0, "study s of b, c.db, trial 1"});
  results.push_back({{0.5}, std::numeric_limits<double>::quiet_NaN(), 0, "study s of b, c.db, trial 2"});
  results.push_back({{0.5}, 9, 0, "study s of b, c.db, trial 3"});
  const auto sources = SourcesOf(results, 1, 20);
  REQUIRE(sources.size() == 2);
  REQUIRE(sources[0].size() == 10);
  CHECK(EarlierSource(sources[0].begin(), sources[0].begin() + 6) == EarlierSource{99, 98, 97, 96, 95, 94});
  CHECK(sources[0].back() < 30);
  CHECK(sources[1] == EarlierSource{102, 100});
  CHECK(SourcesOf(results, -1, 20)[0].front() == 0);
  CHECK(SourcesOf({}, 1, 20).empty());
}

TEST_CASE("Transfer: a source differs by what it predicts amiss, and its offset costs nothing",
          "[scheduler]") {
  const FeatureMap map({{0, false}});
  Hyperparameters hyperparameters;
  hyperparameters.warping = {Eigen::VectorXd::Constant(1, 0.4), Eigen::VectorXd::Ones(1),
                             Eigen::VectorXd::Ones(1)};
  hyperparameters.noise = 1e-3;
  const auto observed = [](int count, const std::function<double(double)>& function) {
    Observations observations{
        Eigen::MatrixXd(count, 1), Eigen::VectorXd(count), Eigen::VectorXd::Zero(count), {}};
    for (int i = 0; i < count; ++i) {
      observations.points(i, 0) = (i + 0.5) / count;
      observations.values[i] = function((i + 0.5) / count);
    }
    return observations;
  };
  const auto wave = [](double x) { return std::sin(6 * x); };
  const Observations source = observed(20, wave);
  // What is left off the diagonal between the ends is the offset.
  const auto difference = [&](const Observations& own) {
    const Eigen::MatrixXd covariance = DifferenceOf(map, hyperparameters, own, source);
    CHECK(covariance.isApprox(covariance.transpose()));
    return covariance(0, 0) - 1;
  };
  const double usual = difference(observed(0, wave));
  CHECK(difference(observed(10, wave)) < usual / 2);
  CHECK(difference(observed(10, [&](double x) { return wave(x) + 5; })) < usual / 2);
  CHECK(difference(observed(10, [&](double x) { return -wave(x); })) > 1);
  // Half agreed on is half believed.
  const double half = difference(observed(10, [&](double x) { return wave(x) + 0.7 * std::cos(20 * x); }));
  CHECK(half > usual);
  CHECK(half < 20);
}

TEST_CASE("Transfer: results on other data help, whatever their size and offset", "[scheduler]") {
  const auto earlier = EarlierBowl(40, OtherBowl);
  for (const SamplerKind kind : {SamplerKind::kGp, SamplerKind::kTpe}) {
    CAPTURE(static_cast<int>(kind));
    const SearchSpec spec = BowlJob(kind, 5);
    CHECK(MedianBestAfter(spec, earlier) < MedianBestAfter(spec, {}) / 2);
  }
}

TEST_CASE("Transfer: wrong results do not mislead for long, however many they are", "[scheduler]") {
  for (const int count : {40, 300}) {
    const auto earlier = EarlierBowl(count, RisingBowl);
    for (const SamplerKind kind : {SamplerKind::kGp, SamplerKind::kTpe}) {
      CAPTURE(static_cast<int>(kind), count);
      const SearchSpec spec = BowlJob(kind, kind == SamplerKind::kGp ? 25 : 60);
      CHECK(MedianBestAfter(spec, earlier) < std::max(3 * MedianBestAfter(spec, {}), 1e-4));
    }
  }
}

TEST_CASE("Transfer: jobs with results of several earlier ones replay to the bit", "[scheduler]") {
  for (const PrunerKind pruner : {PrunerKind::kFreezeThaw, PrunerKind::kNone}) {
    SearchSpec spec = BowlJob(SamplerKind::kGp, 30);
    spec.pruner.kind = pruner;
    spec.pruner.rungs.max_resource = 9;
    Simulation simulation = Slots(2);
    simulation.objective = [](const Configuration& at, int64_t level) {
      return Bowl(at, 1) + 1.0 / static_cast<double>(level);
    };
    simulation.earlier = EarlierBowl(30, OtherBowl);
    for (EarlierResult& wrong : EarlierBowl(30, RisingBowl, "old.csv"))
      simulation.earlier.push_back(std::move(wrong));
    const SimulationResult result = Simulate(spec, simulation);
    CHECK(result.state.ended());
    CHECK(Verify(spec, result.facts).ok());
  }
}

}  // namespace
}  // namespace winnow
