#include "scheduler/pruners/asha.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "scheduler/replay.h"
#include "scheduler/space/random.h"
#include "scheduler/state/top_share.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// Rungs at 1, 3 and 9; the best third of each goes on.
SearchSpec AshaJob(AshaForm form, int64_t max_trials) {
  SearchSpec spec = HyperbandJob(9, 3, max_trials);
  spec.pruner.kind = PrunerKind::kAsha;
  spec.pruner.asha_form = form;
  return spec;
}

TEST_CASE("Top share: as a sorted list of all that came, whatever was taken or failed later", "[scheduler]") {
  TopShare top(3);
  std::vector<std::pair<double, TrialNumber>> sorted;  // the finite ones
  std::set<TrialNumber> taken;
  for (TrialNumber n = 1; n <= 2000; ++n) {
    const auto draw = [n](uint64_t i) { return RandomUnit(5, n, Purpose::kSimulation, i); };
    const double key = draw(0) < 0.1 ? kNaN : std::floor(50 * draw(1));
    top.Add(key, n);
    if (std::isfinite(key)) sorted.emplace_back(key, n);
    std::sort(sorted.begin(), sorted.end());
    const auto take = static_cast<TrialNumber>(1 + draw(2) * static_cast<double>(n));
    if (draw(3) < 0.4) {
      top.Take(take);
      taken.insert(take);
    }
    if (draw(4) < 0.2) {
      const auto fails = static_cast<TrialNumber>(1 + draw(5) * static_cast<double>(n - 1));
      top.Fail(fails);
      std::erase_if(sorted, [fails](const auto& entry) { return entry.second == fails; });
    }
    const size_t places = std::min(sorted.size(), static_cast<size_t>(n / 3));
    const auto waiting = std::find_if(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(places),
                                      [&](const auto& entry) { return taken.count(entry.second) == 0; });
    const bool any = waiting != sorted.begin() + static_cast<std::ptrdiff_t>(places);
    REQUIRE(top.best_waiting() == (any ? std::make_optional(waiting->second) : std::nullopt));
    REQUIRE(top.cutoff() == (places > 0 ? std::make_optional(sorted[places - 1].first) : std::nullopt));
    const auto place = std::find(sorted.begin(), sorted.end(), std::make_pair(key, n)) - sorted.begin();
    REQUIRE(top.size() == n);
    REQUIRE(top.IsTop(n) == (static_cast<size_t>(place) < places));
    REQUIRE(top.Rank(n) == place);
  }
}

TEST_CASE("Asha: the promotions of a scripted order of arrivals", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  const auto next = [&job](TrialNumber number, int64_t to) {
    REQUIRE(job.Start() == number);
    REQUIRE(job.trial(number).to == to);
  };
  const auto train = [&](TrialNumber number, int64_t to, double value) {
    next(number, to);
    job.Finish(number, value);
  };
  train(1, 1, 0.1);
  train(2, 1, 0.5);   // of two none goes on
  train(3, 1, 0.3);   // of three the best does
  train(2, 3, 0.55);  // rung 2 has one
  train(4, 1, 0.2);   // four, five: still one place, and it is taken
  train(5, 1, 0.6);   // but now trial 5 is the best
  train(5, 3, 0.7);
  train(6, 1, 0.0);  // six: two places, both taken
  train(7, 1, 0.9);
  train(7, 3, 0.4);  // rung 2 has three: its best is trial 5
  train(5, 9, 0.8);  // the highest rung first
  CHECK(job.trial(5).phase == TrialPhase::kCompleted);
  CHECK(job.trial(5).reason == "Trained to resource 9, the top of ASHA's rungs.");
  next(8, 1);
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

TEST_CASE("Asha: every promotion is explained", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, 0.25 * static_cast<double>(n));
  job.Start();
  CHECK(job.Newest<TrialResumed>().reason ==
        "ASHA: rung 1 at resource 1: rank 1 of 3 with score = 0.75, of the best 1; goes on to resource 3.");
}

TEST_CASE("Asha: of several with a place, the best goes first", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  for (TrialNumber n = 1; n <= 9; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, n == 4 ? 10 : static_cast<double>(n));
  CHECK(job.Start() == 4);
  CHECK(job.Start() == 9);
  CHECK(job.Start() == 8);
  CHECK(job.Start() == 10);
}

TEST_CASE("Asha: to minimise, the least go on, and of equal ones the lower number", "[scheduler]") {
  SearchSpec spec = AshaJob(AshaForm::kPromotion, 100);
  spec.goal = Goal::kMinimize;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, n == 1 ? 0.9 : 0.2);
  CHECK(job.Start() == 2);
}

TEST_CASE("Asha: a trial that fails above a rung keeps no place there", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  job.Finish(1, 0.9);
  job.Finish(2, 0.5);
  job.Finish(3, 0.1);
  REQUIRE(job.Start() == 1);
  job.Report(1, 2, kNaN);
  job.End(1, AttemptOutcome::kStopped);
  CHECK(job.Start() == 2);  // the best third of three, of which one counts as worst
}

TEST_CASE("Asha: a trial that failed, or diverged, has not come", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  for (TrialNumber n = 1; n <= 5; ++n) REQUIRE(job.Start() == n);
  job.End(1, AttemptOutcome::kFailed, "out of memory");
  job.Finish(2, 0.5);
  job.Finish(3, kNaN);
  job.Finish(4, 0.1);
  REQUIRE(job.Start() == 6);
  job.Finish(5, 0.2);  // three have come
  CHECK(job.Start() == 2);
  CHECK(job.state().brackets()[0].rungs[0].top->size() == 3);
}

TEST_CASE("Asha: a trial at its own end is completed and keeps its place in its rung", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 100));
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(job.Start() == 3);
  job.Finish(3, 5, 2);
  CHECK(job.trial(3).phase == TrialPhase::kCompleted);
  CHECK(job.trial(3).reason == "Trained to resource 2, the trainer's own end.");
  CHECK(job.state().brackets()[0].rungs[1].top->size() == 1);
}

TEST_CASE("Asha: without resume a promoted trial starts from nothing", "[scheduler]") {
  SearchSpec spec = AshaJob(AshaForm::kPromotion, 100);
  spec.resumes = false;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(job.Start() == 3);
  CHECK(job.Newest<AttemptStarted>().from == 0);
  CHECK(job.Newest<AttemptStarted>().to == 3);
}

TEST_CASE("Asha: when nothing is left, what is paused ends with its rank, rung and cut-off", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kPromotion, 3));
  REQUIRE(job.StartAll() == 3);
  for (TrialNumber n = 1; n <= 3; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(job.Start() == 3);
  job.Finish(3, 4);
  REQUIRE(job.state().ended());
  CHECK(job.state().ended()->end == JobEnd::kCompleted);
  CHECK(job.trial(1).reason ==
        "ASHA: rung 1 at resource 1: rank 3 of 3 with score = 1; the best 1 went on, the cut-off is 3, and "
        "nothing is left that could change it.");
  CHECK(job.trial(3).reason ==
        "ASHA: rung 2 at resource 3: rank 1 of 1 with score = 4; none goes on before 3 have come, and "
        "nothing is "
        "left that could change it.");
}

TEST_CASE("Asha: trials open brackets by turns, each beginning a rung higher", "[scheduler]") {
  SearchSpec spec = AshaJob(AshaForm::kPromotion, 100);
  spec.pruner.asha_brackets = 2;
  PlayedJob job(spec);
  for (TrialNumber n = 1; n <= 4; ++n) REQUIRE(job.Start() == n);
  CHECK(job.trial(1).to == 1);
  CHECK(job.trial(2).to == 3);
  CHECK(job.trial(3).bracket == 0);
  CHECK(job.trial(4).bracket == 1);
}

TEST_CASE("Asha: what max_total_resource can never pay for is passed over", "[scheduler]") {
  SearchSpec spec = AshaJob(AshaForm::kPromotion, 0);
  spec.limits.max_total_resource = 4;
  PlayedJob job(spec);
  REQUIRE(job.StartAll() == 4);
  for (TrialNumber n = 1; n <= 4; ++n) job.Finish(n, static_cast<double>(n));
  REQUIRE(job.state().ended());
  CHECK(job.state().totals().resource == 4);
  CHECK(job.trial(4).reason.find("rank 1 of 4 with score = 4, of the best 1, but it cannot go on: ") !=
        std::string::npos);
}

TEST_CASE("Asha stopping: the first passes, then only the best so far, then the best third", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kStopping, 100));
  REQUIRE(job.Start() == 1);
  CHECK(job.trial(1).to == 9);
  for (TrialNumber n = 2; n <= 8; ++n) job.Start();
  const auto passes = [&job](TrialNumber number, double value) {
    job.Report(number, 1, value);
    return !job.trial(number).ended();
  };
  CHECK(passes(1, 0.5));
  CHECK_FALSE(passes(2, 0.4));  // of two only the best
  CHECK(passes(3, 0.5));        // of three the best third is one, and this equals it
  CHECK(passes(4, 0.9));
  CHECK_FALSE(passes(5, 0.8));
  CHECK(passes(6, 0.8));  // of six two pass: 0.9 and 0.8
  CHECK_FALSE(passes(7, kNaN));
  CHECK(job.trial(2).reason ==
        "ASHA: rung 1 at resource 1: rank 2 of 2 with score = 0.4; of fewer than 3 only the best passes, "
        "which has 0.5.");
  CHECK(job.trial(5).reason ==
        "ASHA: rung 1 at resource 1: rank 2 of 5 with score = 0.8; the best 1 pass, the cut-off is 0.9.");
  CHECK(job.trial(7).reason == "Diverged: score was nan at resource 1.");
}

TEST_CASE("Asha stopping: a report beyond several rungs is judged at each of them, the lowest first",
          "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kStopping, 100));
  for (TrialNumber n = 1; n <= 3; ++n) REQUIRE(job.Start() == n);
  job.Report(1, 4, 0.5);
  CHECK(job.trial(1).rung == 2);
  job.Report(2, 4, 0.4);
  CHECK(job.trial(2).ended());
  CHECK(job.trial(2).rung == 0);
  CHECK(job.state().brackets()[0].rungs[1].top->size() == 1);
  job.Report(3, 2, 0.6);
  CHECK(job.trial(3).rung == 1);
}

TEST_CASE("Asha stopping: what is trained again after a loss is judged once", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kStopping, 100));
  REQUIRE(job.Start() == 1);
  REQUIRE(job.Start() == 2);
  job.Report(1, 1, 0.5);
  job.End(1, AttemptOutcome::kLost, "gone");
  job.Report(2, 1, 0.9);
  REQUIRE(job.Start() == 1);
  job.Report(1, 1, 0.5);
  CHECK_FALSE(job.trial(1).ended());
  CHECK(job.state().brackets()[0].rungs[0].top->size() == 2);
  job.Report(1, 3, 0.95);
  job.Finish(1, 0.96);
  CHECK(job.trial(1).phase == TrialPhase::kCompleted);
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

TEST_CASE("Asha stopping: a late report of a trial that waits moves it in the queue", "[scheduler]") {
  PlayedJob job(AshaJob(AshaForm::kStopping, 100));
  REQUIRE(job.Start() == 1);
  job.End(1, AttemptOutcome::kLost, "gone");
  job.Report(1, 1, 0.5);
  CHECK(job.trial(1).rung == 1);
  REQUIRE(job.Start() == 1);
  CHECK(job.state().pending().empty());
}

}  // namespace
}  // namespace winnow
