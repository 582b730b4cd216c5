#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec PayingJob(double cost) {
  v1::TuningJobSpec spec = RandomJob(100, 1000);
  spec.mutable_limits()->set_max_cost(cost);
  return spec;
}

TEST_CASE("Cost: ranks pay for their part of the slots, and stop at the limit, to the microsecond",
          "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 4);
  worker.cost_per_hour = 7200;  // half a unit of money a second for each slot
  v1::TuningJobSpec spec = PayingJob(60);
  spec.mutable_limits()->set_max_parallel_trials(2);
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  play.Tick(59'999'999);
  REQUIRE(worker.Step().ok());
  CHECK(play.Describe(id).trial_counts().running() == 2);
  play.Tick(1);
  CHECK(play.Describe(id).trial_counts().cancelled() == 2);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Tell().ok());
  const v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK_THAT(job.state_reason(), Catch::Contains("max_cost"));
  play.CheckStored();
}

TEST_CASE("Cost: what ended attempts took is paid as they took it, by job and by pool", "[server]") {
  Play play(3'600'000'000);
  FakeWorker dear(play, "dear", 2), free(play, "free", 1);
  dear.cost_per_hour = 7200;
  dear.labels = {{"pool", "gpu"}};
  v1::TuningJobSpec spec = RandomJob(4, 1);  // every attempt says that it took a second
  spec.mutable_limits()->set_max_cost(1000);
  const std::string id = play.Create(spec);
  const v1::TuningJob job = PlayToEnd(play, id, {&dear, &free});
  REQUIRE(job.spend().pools_size() == 1);
  const v1::PoolSpend& pool = job.spend().pools(0);
  CHECK(pool.pool() == "gpu");
  CHECK(pool.node_seconds() >= 1);
  CHECK(pool.node_seconds() < job.spend().billable_node_seconds());
  CHECK(pool.cost() == Approx(pool.node_seconds()));
  CHECK(job.spend().cost() == Approx(pool.cost()));
}

TEST_CASE("Cost: workers that cost nothing do not use up the limit", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(PayingJob(0.001));
  REQUIRE(worker.Tell().ok());
  play.Tick(3'599'000'000);
  CHECK(play.Describe(id).trial_counts().running() == 1);
  CHECK(play.Describe(id).spend().cost() == 0);
}

TEST_CASE("Cost: a price and an end outlive the server", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  worker.cost_per_hour = 3600;
  worker.remaining_us = 500'000'000;
  const std::string id = play.Create(PayingJob(60));
  REQUIRE(worker.Tell().ok());
  play.Tick(10'000'000);
  play.Restart(20'000'000);
  REQUIRE(play.Workers().size() == 1);
  CHECK(play.Workers()[0].cost_per_hour() == 3600);
  CHECK(play.Workers()[0].end_time().seconds() == 1'700'000'500);
  play.Tick(29'999'999);
  CHECK(play.Describe(id).trial_counts().running() == 1);
  play.Tick(1);
  CHECK(play.Describe(id).trial_counts().cancelled() == 1);
}

TEST_CASE("Lifetimes: once parts are measured, none starts where it would not end in time", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  worker.tells_true_times = true;
  worker.remaining_us = 1'000'000'000;
  const std::string id = play.Create(RandomJob(100, 10));
  REQUIRE(worker.Tell().ok());
  // Trial 1 reports a level each 10 s.
  for (int level = 1; level <= 10; ++level) {
    play.Tick(10'000'000);
    *worker.remaining_us -= 10'000'000;
    REQUIRE(worker.Step().ok());
  }
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().completed() == 1);
  CHECK(play.Describe(id).trial_counts().running() == 1);  // trial 2 has 900 s for 100
  play.Tick(840'000'000);
  *worker.remaining_us -= 840'000'000;
  for (int level = 1; level <= 10; ++level) REQUIRE(worker.Step().ok());
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().completed() == 2);
  CHECK(play.Describe(id).trial_counts().running() == 0);  // trial 3 has 60 s
  FakeWorker other(play, "two", 1);
  other.remaining_us = 1'000'000'000;
  REQUIRE(other.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 1);
  CHECK(other.running.size() == 1);
}

}  // namespace
}  // namespace winnow
