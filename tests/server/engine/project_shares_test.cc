// How free slots are shared between projects, and which trials are preempted.

#include <algorithm>

#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/server/engine/project_jobs.h"

namespace winnow {
namespace {

constexpr int64_t kMinute = 60'000'000;

int64_t RunningOf(Play& play, const std::string& job) { return play.Describe(job).trial_counts().running(); }

TEST_CASE("Shares: free slots go to projects by weight, and priorities count within a project only",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 12);
  SetQuota(play, {"vision", "", {}, 2});
  SetQuota(play, {"speech", "", {}, 1});
  v1::TuningJobSpec urgent = RandomJob(100, 1000);
  urgent.mutable_scheduling()->set_priority(9);
  const std::string low = CreateIn(play, "speech", "cem", RandomJob(100, 1000)),
                    high = CreateIn(play, "speech", "cem", urgent),
                    vision = CreateIn(play, "vision", "ana", RandomJob(100, 1000));
  REQUIRE(worker.Tell().ok());
  CHECK(RunningOf(play, vision) == 8);
  CHECK(RunningOf(play, high) == 4);
  CHECK(RunningOf(play, low) == 0);
}

TEST_CASE("Shares: who has used less lately is served first, also after a restart", "[server]") {
  Play play(10'000 * kMinute);
  FakeWorker worker(play, "one", 1);
  SetQuota(play, {"speech", "", {}, 1});
  const std::string speech = CreateIn(play, "speech", "cem", RandomJob(100, 1));
  REQUIRE(worker.Tell().ok());
  const std::string vision = CreateIn(play, "vision", "ana", RandomJob(100, 1));
  play.Tick(60 * kMinute);
  std::string order;
  for (int part = 0; part < 8; ++part) {
    if (part == 4) play.Restart();
    play.Tick(10 * kMinute);
    REQUIRE(worker.Step().ok());
    REQUIRE(worker.running.size() == 1);
    order += worker.running.begin()->second.assignment.job_id()[4] == 's' ? 's' : 'v';
  }
  // It had 70 minutes before the other had any.
  CHECK(order.substr(0, 6) == "vvvvvv");
}

struct Classes {
  Classes() {
    play.project_rules.preemption = true;
    play.Restart();
    SetQuota(play, {"urgent", "", {}, 1, 3});
    SetQuota(play, {"vision", "", {}, 1, 1});
  }
  Play play;
};

TEST_CASE("Preemption: a job of a higher class makes trials of a lower one stop, which no failure counts",
          "[server]") {
  Classes classes;
  Play& play = classes.play;
  FakeWorker worker(play, "one", 2);
  const std::string low = CreateIn(play, "vision", "ana", RandomJob(2, 9));
  REQUIRE(worker.Tell().ok());
  for (int i = 0; i < 3; ++i) REQUIRE(worker.Step().ok());
  CHECK(RunningOf(play, low) == 2);
  const std::string high = CreateIn(play, "urgent", "lea", RandomJob(1, 2));
  for (int i = 0; i < 3; ++i) REQUIRE(worker.Tell().ok());
  CHECK(RunningOf(play, high) == 1);
  CHECK(RunningOf(play, low) == 1);  // only what has to
  std::string reasons;
  for (const Fact& fact : play.Facts(low)) {
    if (const auto* ended = std::get_if<AttemptEnded>(&fact.body)) {
      CHECK(ended->outcome == AttemptOutcome::kHandedBack);
      reasons += ended->reason;
    }
  }
  CHECK(reasons == "preempted by project urgent (class 3)");
  CHECK(PlayToEnd(play, high, {&worker}).state() == v1::TuningJob::COMPLETED);
  CHECK(PlayToEnd(play, low, {&worker}).state() == v1::TuningJob::COMPLETED);
  for (const v1::Trial& trial : play.Trials(low)) {
    CHECK(trial.state() == v1::Trial::COMPLETED);
    CHECK(trial.trained_resource() == 9);  // it went on from its checkpoint
  }
}

TEST_CASE("Preemption: a gang gets room on the workers that are kept for it", "[server]") {
  Classes classes;
  Play& play = classes.play;
  FakeWorker one(play, "one", 2), two(play, "two", 2);
  const std::vector<FakeWorker*> all = {&one, &two};
  const std::string low = CreateIn(play, "vision", "ana", RandomJob(8, 9));
  for (FakeWorker* worker : all) REQUIRE(worker->Tell().ok());
  v1::TuningJobSpec gang = RandomJob(1, 2);
  gang.mutable_cluster()->set_nodes(3);
  const std::string high = CreateIn(play, "urgent", "lea", gang);
  int64_t least = 4;
  for (int step = 0; step < 6 && RunningOf(play, high) == 0; ++step) {
    for (FakeWorker* worker : all) REQUIRE(worker->Tell().ok());
    least = std::min(least, RunningOf(play, low));
  }
  CHECK(RunningOf(play, high) == 1);
  CHECK(least == 1);
  CHECK(PlayToEnd(play, high, all).state() == v1::TuningJob::COMPLETED);
  CHECK(PlayToEnd(play, low, all).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Preemption: not where the site does not allow it, nor among equals, nor beyond the quota",
          "[server]") {
  Classes classes;
  Play& play = classes.play;
  FakeWorker worker(play, "one", 2);
  const std::string low = CreateIn(play, "vision", "ana", RandomJob(2, 100));
  REQUIRE(worker.Tell().ok());
  SetQuota(play, {"urgent", "", {.slots = 1}, 1, 3});
  const std::string high = CreateIn(play, "urgent", "lea", RandomJob(2, 100));
  for (int i = 0; i < 4; ++i) REQUIRE(worker.Tell().ok());
  CHECK(RunningOf(play, high) == 1);
  CHECK(RunningOf(play, low) == 1);
  const std::string equal = CreateIn(play, "urgent", "zoe", RandomJob(2, 100));
  SetQuota(play, {"urgent", "", {}, 1, 1});
  for (int i = 0; i < 4; ++i) REQUIRE(worker.Tell().ok());
  CHECK(RunningOf(play, equal) == 0);
  CHECK(RunningOf(play, low) == 1);
  SetQuota(play, {"urgent", "", {}, 1, 3});
  play.project_rules.preemption = false;
  play.Restart();
  for (int i = 0; i < 4; ++i) REQUIRE(worker.Tell().ok());
  CHECK(RunningOf(play, low) == 1);
}

}  // namespace
}  // namespace winnow
