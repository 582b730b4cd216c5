// Trainers that cannot resume and whose programs are suspended: a part begins where the one before ended, or
// from nothing.

#include "scheduler/replay.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/scheduler/played_job.h"

namespace winnow {
namespace {

SearchSpec SuspendedJob() {
  SearchSpec spec = HyperbandJob(9, 3);
  spec.resumes = false;
  spec.suspends = true;
  return spec;
}

// The nine trials of the first rung; 7, 8 and 9 go on from level 1 to 3.
PlayedJob CutJob(const SearchSpec& spec) {
  PlayedJob job(spec);
  for (int i = 0; i < 9; ++i) job.Start();
  for (TrialNumber n = 1; n <= 9; ++n) job.Finish(n, static_cast<double>(n));
  return job;
}

TEST_CASE("Suspended: a part begins at the level of the one before", "[scheduler]") {
  PlayedJob job = CutJob(SuspendedJob());
  const auto due = Admit(job.state());
  REQUIRE(due);
  CHECK(due->trial == 7);
  CHECK(due->from == 1);
  CHECK(due->to == 3);
}

TEST_CASE("Suspended: while its worker has no room others go first, and the record replays", "[scheduler]") {
  const SearchSpec spec = SuspendedJob();
  PlayedJob job = CutJob(spec);
  const auto due = Admit(job.state(), {7});
  REQUIRE(due);
  CHECK(due->trial == 8);
  job.Record(AttemptStarted{8, 2, 1, 3});
  const auto fresh = Admit(job.state(), {7, 9});
  REQUIRE((fresh && fresh->decision));
  CHECK(fresh->trial == 10);
  job.Record(ToBody(*fresh->decision));
  job.Record(AttemptStarted{10, 1, 0, fresh->to});
  CHECK(Verify(spec, job.facts()).ok());
  // A trainer that resumes can do so anywhere: nothing is passed.
  SearchSpec resuming = spec;
  resuming.resumes = true;
  resuming.suspends = false;
  CHECK_FALSE(Verify(resuming, job.facts()).ok());
}

TEST_CASE("Suspended: units are left for trials that wait for their worker", "[scheduler]") {
  SearchSpec spec = SuspendedJob();
  spec.limits.max_total_resource = 9 + 2 + 2;
  PlayedJob job = CutJob(spec);
  CHECK(Admit(job.state(), {7})->trial == 8);
  CHECK_FALSE(Admit(job.state(), {7, 8}).has_value());
}

TEST_CASE("Suspended: what is trained again from nothing counts again, whatever levels are reported",
          "[scheduler]") {
  SearchSpec spec = SuspendedJob();
  PlayedJob job = CutJob(spec);
  REQUIRE(job.Start() == 7);
  job.Report(7, 2, 7);
  CHECK(job.state().totals().resource == 10);
  job.End(7, AttemptOutcome::kLost, "no word for 30 s");
  job.Record(CheckpointLost{7});
  REQUIRE(Admit(job.state())->from == 0);
  REQUIRE(job.Start() == 7);
  job.Report(7, 3, 7);  // its first report is beyond all that was reported before
  CHECK(job.state().totals().resource == 13);
  CHECK(job.trial(7).trained_resource == 5);
}

}  // namespace
}  // namespace winnow
