#include "scheduler/plan.h"
#include "scheduler/replay.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

// "9@1 3@3 1@9", again and again up to max_trials.
SearchSpec HalvingJob(int64_t max_trials) {
  SearchSpec spec = HyperbandJob(9, 3, max_trials);
  spec.pruner.kind = PrunerKind::kSuccessiveHalving;
  return spec;
}

std::vector<std::string> Brackets(const SearchSpec& spec) {
  std::vector<std::string> rows;
  for (const BracketPlan& bracket : MakePlan(spec).brackets) rows.push_back(Rungs(bracket));
  return rows;
}

using Rows = std::vector<std::string>;

// Plays the job on one slot, where trial n always reports values[n - 1]: "1@1 2@1 …" in the order of
// training.
std::string Order(const SearchSpec& spec, const std::vector<double>& values) {
  PlayedJob job(spec);
  std::string order;
  while (const TrialNumber number = job.Start()) {
    order += (order.empty() ? "" : " ") + std::to_string(number) + "@" + std::to_string(job.trial(number).to);
    job.Finish(number, values[number - 1]);
  }
  REQUIRE(job.state().ended());
  REQUIRE(Verify(spec, job.facts()).ok());
  return order;
}

TEST_CASE("Successive halving: the table is one bracket, repeated, and the last one is narrower",
          "[scheduler]") {
  CHECK(Brackets(HalvingJob(0)) == Rows{"9@1 3@3 1@9"});
  CHECK(Brackets(HalvingJob(21)) == Rows{"9@1 3@3 1@9", "9@1 3@3 1@9", "3@1 1@3 1@9"});
  SearchSpec wide = HalvingJob(0);
  wide.pruner.bracket_trials = 20;
  CHECK(Brackets(wide) == Rows{"20@1 6@3 2@9"});
  SearchSpec large = HalvingJob(0);
  large.pruner.rungs = {1, 243, 3};
  CHECK(Brackets(large) == Rows{"243@1 81@3 27@9 9@27 3@81 1@243"});
}

TEST_CASE("Successive halving: nine trials on one slot, the best third goes on twice", "[scheduler]") {
  CHECK(Order(HalvingJob(9), {0.1, 0.2, 0.9, 0.3, 0.8, 0.4, 0.7, 0.5, 0.6}) ==
        "1@1 2@1 3@1 4@1 5@1 6@1 7@1 8@1 9@1 3@3 5@3 7@3 3@9");
}

TEST_CASE("Successive halving: every stop is explained", "[scheduler]") {
  PlayedJob job(HalvingJob(9));
  REQUIRE(job.StartAll() == 9);
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n) / 16);
  CHECK(job.trial(2).reason ==
        "Successive halving: bracket 1 (s = 2), rung 1 at resource 1: rank 8 of 9 with score = 0.125; the "
        "best 3 "
        "go on, the cut-off is 0.4375.");
}

TEST_CASE("Successive halving: while a rung waits, free slots begin the next bracket", "[scheduler]") {
  PlayedJob job(HalvingJob(18));
  for (TrialNumber n = 1; n <= 9; ++n) REQUIRE(job.Start() == n);
  for (TrialNumber n = 1; n <= 8; ++n) job.Finish(n, 0.5);
  REQUIRE(job.Start() == 10);
  CHECK(job.trial(10).bracket == 1);
  job.Finish(9, 0.9);
  CHECK(job.Start() == 1);  // of equal ones the lowest number; 1, 2 and 9 go on
}

TEST_CASE("Hyperband: a whole job of R = 4, eta = 2 on one slot, bracket after bracket", "[scheduler]") {
  // "4@1 2@2 1@4", "3@2 1@4", "3@4"
  CHECK(Order(HyperbandJob(4, 2), {0.1, 0.4, 0.2, 0.3, 0.5, 0.7, 0.6, 0.8, 0.9, 0.85}) ==
        "1@1 2@1 3@1 4@1 2@2 4@2 2@4 5@2 6@2 7@2 6@4 8@4 9@4 10@4");
}

}  // namespace
}  // namespace winnow
