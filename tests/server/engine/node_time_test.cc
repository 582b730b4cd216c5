#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec LimitedJob(double node_seconds) {
  v1::TuningJobSpec spec = RandomJob(100, 1000);
  spec.mutable_limits()->set_max_node_seconds(node_seconds);
  return spec;
}

TEST_CASE("Node time: it is used up as fast as slots are held, to the microsecond", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 2);
  std::string id = play.Create(LimitedJob(60));
  REQUIRE(worker.Tell().ok());
  play.Tick(29'999'999);
  REQUIRE(worker.Step().ok());
  CHECK(play.Describe(id).trial_counts().running() == 2);
  play.Tick(1);
  CHECK(play.Describe(id).trial_counts().cancelled() == 2);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Tell().ok());
  v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK_THAT(job.state_reason(), Catch::Contains("max_node_seconds"));
}

TEST_CASE("Node time: every rank of a gang counts", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 3);
  v1::TuningJobSpec spec = LimitedJob(60);
  spec.mutable_cluster()->set_nodes(3);
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  play.Tick(19'999'999);
  CHECK(play.Describe(id).trial_counts().running() == 1);
  play.Tick(1);
  CHECK(play.Describe(id).trial_counts().cancelled() == 1);
}

TEST_CASE("Node time: what ended attempts took is counted as they took it, and no new one starts beyond",
          "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = LimitedJob(3);
  spec.mutable_limits()->set_max_trial_resource(1);
  std::string id = play.Create(spec);  // every attempt says that it took a second
  v1::TuningJob job = PlayToEnd(play, id, {&worker});
  CHECK(job.spend().billable_node_seconds() >= 2);
  CHECK(job.spend().billable_node_seconds() <= 3);
  CHECK(job.trial_counts().completed() >= 2);
  CHECK_THAT(job.state_reason(), Catch::Contains("max_node_seconds"));
}

TEST_CASE("Node time: a worker whose clock is wrong does not use it up", "[server]") {
  const auto [start_s, end_s] = GENERATE(table<int64_t, int64_t>({
      {1, 253402300799},  // it was set while the trial was trained
      {INT64_MIN, INT64_MAX},
      {INT64_MAX, INT64_MAX},
      {253402300799, 1},
  }));
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(LimitedJob(86400));
  REQUIRE(worker.Tell().ok());
  REQUIRE_FALSE(worker.running.empty());
  v1::RunningAssignment& state = worker.running.begin()->second.state;
  state.set_state(v1::RunningAssignment::ENDED);
  state.mutable_outcome()->set_kind(v1::Outcome::FAILED);
  state.mutable_outcome()->mutable_start_time()->set_seconds(start_s);
  state.mutable_outcome()->mutable_end_time()->set_seconds(end_s);
  REQUIRE(worker.Tell().ok());
  const v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::RUNNING);
  CHECK(job.trial_counts().failed() == 1);
  CHECK(job.spend().billable_node_seconds() >= 0);
  CHECK(job.spend().billable_node_seconds() <= 60);
}

TEST_CASE("Node time: attempts go on while the server is down, and so does the count", "[server]") {
  Play play(3'600'000'000);
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(LimitedJob(60));
  REQUIRE(worker.Tell().ok());
  play.Tick(10'000'000);
  play.Restart(20'000'000);
  play.Tick(29'999'999);
  CHECK(play.Describe(id).trial_counts().running() == 1);
  play.Tick(1);
  CHECK(play.Describe(id).trial_counts().cancelled() == 1);
}

TEST_CASE("Node time: an attempt that is lost gives back what it did not use", "[server]") {
  Play play(15'000'000);
  FakeWorker one(play, "one", 1);
  std::string id = play.Create(LimitedJob(20));
  REQUIRE(one.Tell().ok());
  play.Tick(1'000'000);
  REQUIRE(one.Tell().ok());  // the last that is heard of it
  play.Tick(15'000'001);
  CHECK(play.Describe(id).trial_counts().pending() == 1);
  FakeWorker two(play, "two", 1);
  REQUIRE(two.Tell().ok());
  play.Tick(14'000'000);
  REQUIRE(two.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 1);
  play.Tick(5'000'000);
  CHECK(play.Describe(id).trial_counts().running() == 0);
}

}  // namespace
}  // namespace winnow
