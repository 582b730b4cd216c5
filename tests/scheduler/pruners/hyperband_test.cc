#include "scheduler/pruners/hyperband.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "scheduler/space/random.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

using Numbers = std::vector<TrialNumber>;

// R = 9, eta = 3: brackets "9@1 3@3 1@9", "5@3 1@9", "3@9". The nine trials of the first are placed.
PlayedJob NineRunning(Goal goal = Goal::kMaximize) {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.goal = goal;
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) REQUIRE(job.Start() == i + 1);
  return job;
}

TEST_CASE("Hyperband: a rung is cut when all have arrived, and the best third goes on", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 8; ++n) job.Finish(n, 0.1 * static_cast<double>(n));
  CHECK(job.state().totals().paused == 8);
  job.Finish(9, 0.05);
  const auto& cut = job.Newest<RungCut>();
  CHECK(cut.ranking == Numbers{8, 7, 6, 5, 4, 3, 2, 1, 9});
  CHECK(cut.promoted == 3);
  CHECK(cut.cutoff == Approx(0.6));
  CHECK(job.state().totals().pruned == 6);
  CHECK(job.state().totals().pending == 3);
  CHECK(job.trial(8).rung == 1);
  CHECK(job.trial(8).to == 3);
  CHECK(job.trial(8).checkpoint == 1);
}

TEST_CASE("Hyperband: every stop is explained by rule, rung, rank and cut-off", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n) / 16);
  CHECK(job.trial(1).reason ==
        "Hyperband: bracket 1 (s = 2), rung 1 at resource 1: rank 9 of 9 with score = 0.0625; the best 3 go "
        "on, the "
        "cut-off is 0.4375.");
}

TEST_CASE("Hyperband: to minimise, the least go on, and ties go to the lower number", "[scheduler]") {
  PlayedJob job = NineRunning(Goal::kMinimize);
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, n == 7 ? 0.1 : 0.5);
  CHECK(job.Newest<RungCut>().ranking == Numbers{7, 1, 2, 3, 4, 5, 6, 8, 9});
  CHECK(job.trial(2).phase == TrialPhase::kPending);
  CHECK(job.trial(3).phase == TrialPhase::kPruned);
}

TEST_CASE("Hyperband: a failed trial counts as worst and does not stall its rung", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 7; ++n) job.Finish(n, static_cast<double>(n));
  job.Report(9, 1, 1000);
  job.End(9, AttemptOutcome::kFailed, "out of memory");
  job.Finish(8, -5);
  const auto& cut = job.Newest<RungCut>();
  CHECK(cut.ranking.back() == 9);
  CHECK(cut.ranking.front() == 7);
  CHECK(job.trial(9).phase == TrialPhase::kFailed);
  CHECK(job.trial(9).reason == "out of memory");
}

TEST_CASE("Hyperband: trials that diverged rank last, with the other failures", "[scheduler]") {
  PlayedJob job = NineRunning();
  job.End(1, AttemptOutcome::kFailed, "x");
  for (TrialNumber n = 2; n <= 7; ++n) job.Finish(n, std::numeric_limits<double>::quiet_NaN());
  job.Finish(8, 0.1);
  job.Finish(9, 0.2);
  const auto& cut = job.Newest<RungCut>();
  CHECK(cut.ranking == Numbers{9, 8, 1, 2, 3, 4, 5, 6, 7});
  CHECK(cut.promoted == 2);
  CHECK(cut.cutoff == 0.1);
  CHECK(job.trial(2).reason == "Diverged: score was nan at resource 1.");
}

TEST_CASE("Hyperband: a rung in which all fail ends its bracket, and the job goes on", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 9; ++n) job.End(n, AttemptOutcome::kFailed, "x");
  CHECK(job.Newest<RungCut>().promoted == 0);
  CHECK(std::isnan(job.Newest<RungCut>().cutoff));
  CHECK(job.StartAll() == 5 + 3);
  CHECK_FALSE(job.state().ended());
}

TEST_CASE("Hyperband: free slots open the next brackets while a rung waits", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 8; ++n) job.Finish(n, 1);
  CHECK(job.StartAll() == 5 + 3);
  CHECK(job.state().brackets().size() == 3);
  job.Finish(9, 1);
  CHECK(job.Start() == 1);  // promoted trials of the first bracket
}

TEST_CASE("Hyperband: promoted trials of earlier brackets go before new trials", "[scheduler]") {
  PlayedJob job = NineRunning();
  const TrialNumber other = job.Start();
  CHECK(job.trial(other).bracket == 1);
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  CHECK(job.Start() == 7);
  CHECK(job.Start() == 8);
  CHECK(job.Start() == 9);
  CHECK(job.Start() == 11);
}

TEST_CASE("Hyperband: a trial at its own end passes later rungs without running", "[scheduler]") {
  PlayedJob job = NineRunning();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  for (TrialNumber n = 7; n <= 9; ++n) REQUIRE(job.Start() == n);
  job.Finish(7, 0.1);
  job.Finish(8, 0.2);
  job.Finish(9, 0.9, 2);  // ends at 2 of 3
  CHECK(job.trial(9).at_own_end);
  CHECK(job.trial(9).phase == TrialPhase::kCompleted);
  CHECK(job.trial(9).rung == 2);
  CHECK(job.trial(9).attempts == 2);
  CHECK(job.trial(9).trained_resource == 2);
  CHECK(job.trial(9).reason ==
        "Trained to resource 2, the trainer's own end, in bracket 1 (s = 2), rung 3 at resource 9.");
}

TEST_CASE("Hyperband: trials that all end below the first rung finish the bracket at once", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.pruner.rungs.min_resource = 3;  // "3@3 1@9", "2@9"
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 5);
  for (TrialNumber n = 1; n <= 5; ++n) job.Finish(n, static_cast<double>(n), 2);
  REQUIRE(job.state().ended());
  CHECK(job.state().totals().completed == 3);
  CHECK(job.state().totals().pruned == 2);
  CHECK(job.trial(3).rung == 1);
  CHECK(job.state().totals().resource == 10);
}

TEST_CASE("Hyperband: ranks by the newest value at or below the rung", "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.pruner.rungs.min_resource = 3;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  job.Report(1, 2, 0.9);
  job.Finish(1, 0.1);
  job.Report(2, 4, 100);  // beyond its budget: does not count at this rung
  job.Finish(2, 0.2);
  job.Finish(3, 0.3);
  CHECK(job.Newest<RungCut>().ranking == Numbers{3, 2, 1});
  CHECK(job.trial(2).trained_resource == 3);
}

TEST_CASE("Hyperband: without resume a promoted trial starts from nothing and is counted again",
          "[scheduler]") {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.resumes = false;
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(job.Start() == 7);
  CHECK(job.Newest<AttemptStarted>().from == 0);
  CHECK(job.Newest<AttemptStarted>().to == 3);
  job.Finish(7, 1);
  CHECK(job.trial(7).trained_resource == 1 + 3);
}

TEST_CASE("Hyperband: how many trials run at once does not change a bracket's width", "[scheduler]") {
  for (int64_t parallel : {1, 2, 100}) {
    SearchSpec spec = HyperbandJob(27, 3);
    spec.limits.max_parallel_trials = parallel;
    const SimulationResult result = Simulate(spec, Slots(64));
    REQUIRE(result.state.brackets().size() == 4);
    for (const BracketState& bracket : result.state.brackets()) {
      for (size_t i = 0; i < bracket.rungs.size(); ++i) {
        CHECK(static_cast<int64_t>(bracket.rungs[i].entered.size()) == bracket.plan.rungs[i].trials);
      }
    }
  }
}

}  // namespace
}  // namespace winnow
