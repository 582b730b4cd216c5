#include "scheduler/state/identical_curves.h"

#include <limits>

#include "scheduler/replay.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

const Curve kCurve = {{1, 0.5}, {2, 0.25}};

// The configurations x = 1, 2, 3…, each with one of the curves.
IdenticalCurves After(const std::vector<Curve>& curves) {
  IdenticalCurves seen;
  TrialNumber trial = 0;
  for (const Curve& curve : curves) {
    ++trial;
    seen.OnPart({}, trial, {static_cast<double>(trial)}, curve);
  }
  return seen;
}

}  // namespace

TEST_CASE("IdenticalCurves: five configurations with one curve are seen, and no fewer", "[scheduler]") {
  CHECK_FALSE(After({kCurve, kCurve, kCurve, kCurve}).seen());
  CHECK(After({kCurve, kCurve, kCurve, kCurve, kCurve}).seen());
  CHECK(After({kCurve, kCurve, kCurve, kCurve, kCurve}).trials() == std::vector<TrialNumber>{1, 2, 3, 4, 5});
}

TEST_CASE("IdenticalCurves: of curves of different length the shorter counts", "[scheduler]") {
  const Curve one = {kCurve[0]};
  CHECK(After({one, kCurve, one, kCurve, {}, one}).seen());
}

TEST_CASE("IdenticalCurves: one that differs in a value or in its levels settles that they are not",
          "[scheduler]") {
  for (const Curve& other : {Curve{{1, 0.5}, {2, 0.250001}}, Curve{{1, 0.5}, {3, 0.25}}, Curve{{1, -0.5}},
                             Curve{{1, std::numeric_limits<double>::quiet_NaN()}}}) {
    CHECK_FALSE(After({kCurve, other, kCurve, kCurve, kCurve, kCurve, kCurve}).seen());
  }
}

TEST_CASE("IdenticalCurves: one configuration that is tried again, or on other nodes, is one",
          "[scheduler]") {
  IdenticalCurves seen;
  SearchSpec spec;
  spec.nodes_parameter = 1;
  for (TrialNumber trial = 1; trial <= 9; ++trial) seen.OnPart(spec, trial, {0.5, int64_t{trial}}, kCurve);
  CHECK_FALSE(seen.seen());
}

TEST_CASE("JobState: a notice is a fact that decides nothing, and each kind comes once", "[scheduler]") {
  PlayedJob job(RandomJob(2, 3));
  job.StartAll();
  const size_t before = job.facts().size();
  job.Record(Noticed{1, NoticeKind::kBeyondBudget, "It trains past its budget."});
  CHECK(job.facts().size() == before + 1);
  REQUIRE(job.state().notices().size() == 1);
  const auto contradiction = [&job](Noticed notice) {
    return job.state().Contradiction({job.state().last_sequence() + 1, 0, notice});
  };
  CHECK(contradiction({2, NoticeKind::kBeyondBudget, "again"}) == "that was noticed already");
  CHECK(contradiction({3, NoticeKind::kLevelBelowOne, "x"}) == "there is no trial 3");
  CHECK(contradiction({1, static_cast<NoticeKind>(kMostNoticeKind + 1), "x"}) == "there is no such kind");
  job.Finish(1, 0.5);
  job.Finish(2, 0.25);
  REQUIRE(job.state().ended());
  job.Record(Noticed{2, NoticeKind::kUnmatchedMetric, "What the last trial shows comes after the end."});
  CHECK(Verify(job.state().spec(), job.facts()).ok());
}

}  // namespace winnow
