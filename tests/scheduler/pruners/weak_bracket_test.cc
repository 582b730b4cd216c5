#include "scheduler/pruners/weak_bracket.h"

#include <bit>
#include <cmath>
#include <set>

#include "scheduler/replay.h"
#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

TEST_CASE("Weak brackets: the chance is that of all orders, counted out", "[scheduler]") {
  for (int64_t k = 1; k <= 5; ++k) {
    for (int64_t m = 1; m <= 6; ++m) {
      std::vector<int64_t> at_least(m + 1);  // orders in which so many of the others are ahead
      int64_t orders = 0;
      for (uint32_t own = 0; own < (1u << (k + m)); ++own) {  // which places are the bracket's
        if (std::popcount(own) != k) continue;
        ++orders;
        for (int64_t ahead = 0; ahead <= std::countr_zero(own); ++ahead) ++at_least[ahead];
      }
      for (int64_t ahead = 0; ahead <= m; ++ahead) {
        REQUIRE(ChanceBehind(k, m, ahead) ==
                Approx(static_cast<double>(at_least[ahead]) / static_cast<double>(orders)));
      }
    }
  }
}

// How a trial's values tell of its end: value = signal * quality + (1 - signal) * noise, where the signal
// grows from `first` at level 1 to 1 at R. Slow starters have less than their quality at first.
struct World {
  double first = 0;
  double slow_starters = 0;
};

double Value(const World& world, uint64_t seed, double x, int64_t level, int64_t max_resource) {
  const auto key = static_cast<TrialNumber>(std::bit_cast<uint64_t>(x) >> 1);
  const auto draw = [&](uint64_t i) { return RandomUnit(seed, key, Purpose::kSimulation, i); };
  const double progress = std::log(static_cast<double>(level)) / std::log(static_cast<double>(max_resource));
  const double signal = world.first + (1 - world.first) * progress;
  const double late = draw(0) < world.slow_starters ? 0.5 * (1 - progress) : 0;
  return signal * x + (1 - signal) * draw(1) - late;
}

Simulation WorldOf(const World& world, uint64_t seed, int workers) {
  Simulation simulation = Slots(workers);
  simulation.seed = seed;
  simulation.objective = [world, seed](const Configuration& configuration, int64_t level) {
    return Value(world, seed, std::get<double>(configuration[0]), level, 81);
  };
  simulation.report_every = 1'000;  // at the end of each part
  return simulation;
}

struct Count {
  int jobs = 0, ended_best = 0, jobs_with_ended = 0, ended_brackets = 0;
  double saved = 0, regret = 0;
};

// Jobs of R = 81, with the rule and without it. The best bracket is the one that trains the best trial to R
// without it.
Count PlayJobs(const World& world, int jobs) {
  Count count;
  for (int j = 0; j < jobs; ++j) {
    SearchSpec spec = HyperbandJob(81, 3);
    spec.sampler.kind = SamplerKind::kRandom;
    spec.seed = static_cast<uint64_t>(j);
    const int workers = j % 2 == 0 ? 1 : 16;
    const SimulationResult whole = Simulate(spec, WorldOf(world, spec.seed, workers));
    const auto best_of = [](const JobState& state) {
      const TrialState* best = nullptr;
      for (const TrialState& t : state.trials()) {
        if (t.phase == TrialPhase::kCompleted &&
            (best == nullptr || t.curve.back().second > best->curve.back().second)) {
          best = &t;
        }
      }
      return best;
    };
    spec.pruner.stop_weak_brackets = true;
    const SimulationResult ruled = Simulate(spec, WorldOf(world, spec.seed, workers));
    ++count.jobs;
    int ended = 0;
    for (const BracketState& bracket : ruled.state.brackets()) ended += bracket.ended ? 1 : 0;
    count.ended_brackets += ended;
    count.jobs_with_ended += ended > 0 ? 1 : 0;
    const int64_t best = best_of(whole.state)->bracket;
    count.ended_best += ruled.state.brackets()[best].ended ? 1 : 0;
    count.saved += 1 - static_cast<double>(ruled.state.totals().resource) / 1581;
    count.regret += best_of(whole.state)->curve.back().second - best_of(ruled.state)->curve.back().second;
  }
  return count;
}

TEST_CASE("Weak brackets: the bracket that would win is ended no more often than weak_bracket_level",
          "[scheduler]") {
  const int jobs = 600;
  // From values at first that tell nothing to those that tell all, and with a part that starts slowly.
  for (const World& world : {World{0, 0}, {0.2, 0}, {0.5, 0}, {0.8, 0}, {1, 0}, {0.5, 0.2}, {0.8, 0.5}}) {
    const Count count = PlayJobs(world, jobs);
    CAPTURE(world.first, world.slow_starters, count.ended_best, count.jobs_with_ended, count.ended_brackets,
            count.saved / jobs, count.regret / jobs);
    // 5 % of 600 jobs are 30; three standard deviations more are 46.
    CHECK(count.ended_best <= 46);
  }
}

// All 143 configurations of a job, those of one bracket drawn below `best_of_weak`, the others below 1.
SearchSpec JobWithWeak(uint64_t seed, int64_t weak, double best_of_weak) {
  SearchSpec spec = HyperbandJob(81, 3);
  spec.pruner.stop_weak_brackets = true;
  spec.seed = seed;
  const std::vector<BracketPlan> brackets = HyperbandBrackets(spec.pruner.rungs);
  for (size_t b = 0; b < brackets.size(); ++b) {
    for (int64_t t = 0; t < brackets[b].rungs[0].trials; ++t) {
      const double x =
          RandomUnit(seed, static_cast<TrialNumber>(spec.initial.size()), Purpose::kSimulation, 77);
      spec.initial.push_back({static_cast<int64_t>(b) == weak ? best_of_weak * x : x});
    }
  }
  return spec;
}

TEST_CASE("Weak brackets: one that is really behind is ended, and its units are saved", "[scheduler]") {
  const World world{0.9, 0};
  int ended = 0, others = 0;
  double saved = 0;
  const int jobs = 200;
  for (int j = 0; j < jobs; ++j) {
    const SearchSpec spec = JobWithWeak(static_cast<uint64_t>(j), 1, 0.6);
    const SimulationResult result = Simulate(spec, WorldOf(world, spec.seed, 4));
    REQUIRE(Verify(spec, result.facts).ok());
    for (size_t b = 0; b < result.state.brackets().size(); ++b) {
      const bool is_ended = result.state.brackets()[b].ended;
      ended += b == 1 && is_ended ? 1 : 0;
      others += b != 1 && is_ended ? 1 : 0;
    }
    saved += 1 - static_cast<double>(result.state.totals().resource) / 1581;
  }
  CAPTURE(ended, others, saved / jobs);
  CHECK(ended >= 0.9 * jobs);
  CHECK(saved / jobs > 0.08);
}

TEST_CASE("Weak brackets: an end is explained with its numbers, and can be turned off", "[scheduler]") {
  SearchSpec spec = JobWithWeak(1, 1, 0.3);
  const World world{1, 0};
  const SimulationResult result = Simulate(spec, WorldOf(world, 1, 1));
  REQUIRE(result.state.brackets()[1].ended);
  std::set<std::string> reasons;
  for (const Fact& fact : result.facts) {
    const auto* ended = std::get_if<BracketEnded>(&fact.body);
    if (ended == nullptr || ended->bracket != 1) continue;
    CHECK(ended->reason.find(
              "Weak bracket: bracket 2 (s = 3): at resource 3 the best of its 11 survivors has score = ") ==
          0);
    CHECK(ended->reason.find(
              "behind 9 of the 9 survivors of other brackets; were it no worse, the chance of that would "
              "be less than 0.005 %, and at most 0.42 % ends it.") != std::string::npos);
    reasons.insert(ended->reason);
  }
  CHECK(reasons.size() == 1);
  for (const TrialState& trial : result.state.trials()) {
    if (trial.bracket == 1 && trial.rung == 1) CHECK(reasons.count(trial.reason) == 1);
  }
  spec.pruner.stop_weak_brackets = false;
  CHECK(Simulate(spec, WorldOf(world, 1, 1)).state.totals().resource == 1581);
}

TEST_CASE("Weak brackets: a trial that was stopped before the cut is no survivor", "[scheduler]") {
  SearchSpec spec = HyperbandJob(27, 3);  // 27@1 9@3 3@9 1@27, then 12@3
  spec.pruner.stop_weak_brackets = true;
  spec.pruner.weak_bracket_level = 0.5;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 49);
  for (TrialNumber n = 1; n <= 27; ++n) job.Finish(n, 0.01 * static_cast<double>(n));
  REQUIRE(job.StartAll() == 9);
  job.Finish(27, 0.8);
  job.Record(TrialStopRequested{27, "ana", ""});
  REQUIRE(job.trial(27).phase == TrialPhase::kPruned);
  for (TrialNumber n = 19; n <= 26; ++n) job.Finish(n, 0.01 * static_cast<double>(n));
  CHECK(job.state().brackets()[0].rungs[1].survivors == std::vector<TrialNumber>{26, 25, 24});
  for (TrialNumber n = 28; n <= 39; ++n) job.Finish(n, 1 + 0.01 * static_cast<double>(n));
  REQUIRE(job.state().brackets()[0].ended);
  CHECK(job.Newest<BracketEnded>().reason.find(
            "Weak bracket: bracket 1 (s = 3): at resource 3 the best of its 3 survivors has score = 0.26, "
            "behind 4 of the 4 survivors of other brackets") == 0);
}

}  // namespace
}  // namespace winnow
