#include "scheduler/suggest.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

#include "scheduler/pruners/asha.h"
#include "scheduler/samplers/random.h"
#include "scheduler/samplers/sampler.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec GpJob(int64_t max_trials) {
  SearchSpec spec = RandomJob(max_trials, 1);
  spec.sampler.kind = SamplerKind::kGp;
  spec.sampler.startup_trials = 3;
  return spec;
}

double ValueOf(const Configuration& configuration) { return std::get<double>(configuration[0]); }

// Through the start, so that the next trial is the model's.
PlayedJob Started(const SearchSpec& spec) {
  PlayedJob job(spec);
  while (!WantsSuggestion(job.state())) {
    const TrialNumber number = job.Start();
    job.Finish(number, ValueOf(job.trial(number).configuration));
  }
  return job;
}

TEST_CASE("Suggest: the user's configurations come first, then the sampler's", "[scheduler]") {
  SearchSpec spec = GpJob(9);
  spec.initial = {{0.125}, {0.875}};
  PlayedJob job(spec);
  CHECK(SamplerOf(job.state().spec()).Next(job.state())->configuration == spec.initial[0]);
  CHECK(SamplerOf(job.state().spec()).Next(job.state())->why == "Initial configuration 1 of the job.");
  job.Start();
  CHECK(SamplerOf(job.state().spec()).Next(job.state())->configuration == spec.initial[1]);
  job.Start();
  CHECK(SamplerOf(job.state().spec()).Next(job.state())->why.find("of a scrambled Sobol sequence.") !=
        std::string::npos);
}

TEST_CASE("Suggest: a model is asked once the start is over, and not while an answer waits", "[scheduler]") {
  PlayedJob job = Started(GpJob(9));
  CHECK(job.state().trials().size() == 3);
  CHECK_FALSE(SamplerOf(job.state().spec()).Next(job.state()));
  CHECK_FALSE(Admit(job.state()));
  job.Record(Suggest(job.state()));
  CHECK_FALSE(WantsSuggestion(job.state()));
  CHECK(Admit(job.state())->trial == 4);
  CHECK(job.Start() == 4);
  CHECK(WantsSuggestion(job.state()));
}

TEST_CASE("Suggest: a model is not asked beyond limits or in a job that ends", "[scheduler]") {
  PlayedJob full = Started(GpJob(4));
  full.Record(Suggest(full.state()));
  full.Start();
  CHECK_FALSE(full.state().may_create());
  CHECK_FALSE(WantsSuggestion(full.state()));

  SearchSpec spec = GpJob(9);
  spec.limits.max_parallel_trials = 1;
  PlayedJob narrow = Started(spec);
  narrow.Record(Suggest(narrow.state()));
  narrow.Start();
  CHECK_FALSE(WantsSuggestion(narrow.state()));

  PlayedJob stopped = Started(GpJob(9));
  stopped.Record(StopRequested{"enough"});
  CHECK_FALSE(WantsSuggestion(stopped.state()));
}

TEST_CASE("Suggest: answers follow from the record alone", "[scheduler]") {
  PlayedJob job = Started(GpJob(0));
  for (int i = 0; i < 6; ++i) {
    const Suggested answer = Suggest(job.state());
    CHECK(answer.based_on == job.state().last_sequence());
    CHECK(answer.trial == static_cast<TrialNumber>(job.state().trials().size()) + 1);
    JobState loaded(job.state().spec());
    for (const Fact& fact : job.facts()) loaded.Apply(fact);
    CHECK(Identical(FactBody(answer), FactBody(Suggest(loaded))));
    job.Record(answer);
    job.Finish(job.Start(), ValueOf(answer.configuration));
  }
}

TEST_CASE("Suggest: any configuration of a finite space is one that was not tried", "[scheduler]") {
  SearchSpec spec = GpJob(0);
  spec.parameters = {{"a", IntegerRange{1, 3}}, {"kind", CategoricalRange{{"p", "q"}}}};
  spec.constraints = {};
  PlayedJob job(spec);
  std::set<Configuration> tried;
  for (TrialNumber number = 1; number <= 6; ++number) {
    Configuration next = AnyConfiguration(job.state(), number);
    CHECK(tried.insert(next).second);
    job.Record(TrialCreated{number, std::move(next), -1, 0, 1, "given"});
  }
  CHECK(job.state().exhausted());
  CHECK_FALSE(job.state().may_create());
  CHECK_FALSE(SamplerOf(job.state().spec()).Next(job.state()));
}

// A space of six parameters, as of a boosted tree, and its job of so many trials, given by a model or not.
SearchSpec LargeJob(PrunerKind pruner) {
  SearchSpec spec = pruner == PrunerKind::kNone ? RandomJob(0, 1) : HyperbandJob(81, 3);
  spec.pruner.kind = pruner;
  spec.sampler.kind = SamplerKind::kGp;
  spec.parameters = {{"rate", ContinuousRange{1e-3, 1, Scaling::kLog}},
                     {"depth", IntegerRange{2, 12}},
                     {"rows", ContinuousRange{0.3, 1}},
                     {"columns", ContinuousRange{0.3, 1}},
                     {"weight", ContinuousRange{0.1, 100, Scaling::kLog}},
                     {"kind", CategoricalRange{{"tree", "line", "net"}}}};
  return spec;
}

double LargeValue(const Configuration& at, int64_t level) {
  const double rate = std::log10(std::get<double>(at[0])) + 1.5;
  const double rows = std::get<double>(at[2]) - 0.8;
  return 1 - 0.1 * rate * rate - rows * rows - 0.3 * std::pow(static_cast<double>(level), -0.5);
}

// Begun with random trials; under rungs, of these the best go on as in ASHA.
PlayedJob Grown(PrunerKind pruner, int64_t trials) {
  PlayedJob job(LargeJob(pruner));
  const auto play = [&](TrialNumber number) {
    const TrialState& trial = job.trial(number);
    job.Record(AttemptStarted{number, trial.attempts + 1, trial.checkpoint, trial.to});
    for (int64_t level = trial.checkpoint + 1; level <= trial.to; ++level)
      job.Report(number, level, LargeValue(trial.configuration, level));
    job.End(number, AttemptOutcome::kFinished);
  };
  const bool rungs = pruner == PrunerKind::kFreezeThaw;
  for (TrialNumber number = 1; number <= trials; ++number) {
    job.Record(TrialCreated{number, RandomConfiguration(job.state().spec(), job.state().space(), number),
                            rungs ? 0 : -1, 0, 1, "given"});
    play(number);
    while (rungs) {
      auto promotion = AshaPruner().Promote(job.state());
      if (!promotion) break;
      job.Record(*promotion);
      play(promotion->trial);
    }
  }
  return job;
}

TEST_CASE("Suggest: the time an answer takes", "[.timing]") {
  using Clock = std::chrono::steady_clock;
  for (const PrunerKind pruner : {PrunerKind::kNone, PrunerKind::kFreezeThaw}) {
    for (const int64_t trials : {100, 1'000, 10'000}) {
      PlayedJob job = Grown(pruner, trials);
      std::vector<double> milliseconds;
      for (int i = 0; i < 41; ++i) {
        REQUIRE(WantsSuggestion(job.state()));
        const Clock::time_point start = Clock::now();
        Suggested answer = Suggest(job.state());
        milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
        job.Record(std::move(answer));
        const TrialNumber number = job.Start();
        REQUIRE(number > 0);
        job.Finish(number, LargeValue(job.trial(number).configuration, job.trial(number).to));
      }
      const double first = milliseconds[0];
      std::sort(milliseconds.begin(), milliseconds.end());
      std::printf("%s after %lld trials: median %.1f ms, most %.1f ms, first %.1f ms\n",
                  pruner == PrunerKind::kNone ? "GP" : "FREEZE_THAW", static_cast<long long>(trials),
                  milliseconds[20], milliseconds[40], first);
    }
  }
}

}  // namespace
}  // namespace winnow
