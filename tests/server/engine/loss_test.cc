#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::Worker::State StateOf(Play& play, const std::string& id) {
  for (const v1::Worker& worker : play.Workers()) {
    if (worker.id() == id) return worker.state();
  }
  return v1::Worker::STATE_UNSPECIFIED;
}

TEST_CASE("Loss: the trials of a worker that falls silent go on elsewhere", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = RandomJob(1, 4);
  std::string id = play.Create(spec);
  REQUIRE(one.Tell().ok());
  REQUIRE(one.Step().ok());
  play.Tick(10'000'000);
  REQUIRE(two.Tell().ok());
  CHECK(two.running.empty());
  play.Tick(6'000'000);  // 16 s after its last word
  CHECK(StateOf(play, one.id()) == v1::Worker::LOST);
  REQUIRE(two.Tell().ok());
  REQUIRE(two.running.size() == 1);
  CHECK(two.running.begin()->second.assignment.attempt() == 2);
  v1::TuningJob job = PlayToEnd(play, id, {&two});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(play.Trials(id)[0].attempts() == 2);

  // It comes back, and what it says counts no more.
  one.Train();
  CHECK(one.Tell().code() == absl::StatusCode::kFailedPrecondition);
  one.StartAnew();
  CHECK(one.Tell().ok());
  CHECK(StateOf(play, one.id()) == v1::Worker::LIVE);
}

TEST_CASE("Loss: a new process under an old name replaces it at once", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 4));
  REQUIRE(worker.Tell().ok());
  std::string old_id = worker.id(), old_assignment = worker.running.begin()->first;
  v1::SyncRequest late = worker.Request();
  worker.StartAnew();
  REQUIRE(worker.Tell().ok());
  CHECK(StateOf(play, old_id) == v1::Worker::LOST);
  REQUIRE(worker.running.size() == 1);
  CHECK(worker.running.begin()->first != old_assignment);
  CHECK(play.Sync(late).status().code() == absl::StatusCode::kFailedPrecondition);
  PlayToEnd(play, id, {&worker});
  CHECK(play.Trials(id)[0].attempts() == 2);
}

TEST_CASE("Loss: a live worker keeps its name, also over a restart of the server", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 4));
  REQUIRE(worker.Tell().ok());
  v1::SyncRequest other = worker.Request();
  other.set_worker_id("another-folder--0000000000000001");
  play.Tick(3'000'000);
  absl::Status refused = play.Sync(other).status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK(std::string(refused.message()) ==
        "the name one is in use by a live worker (on host localhost, last heard of 3 s ago); "
        "give this one another --name");
  CHECK(StateOf(play, worker.id()) == v1::Worker::LIVE);
  CHECK(StateOf(play, other.worker_id()) == v1::Worker::STATE_UNSPECIFIED);

  play.time.now_us += 1'000'000;
  play.Restart();
  refused = play.Sync(other).status();
  CHECK(refused.code() == absl::StatusCode::kAlreadyExists);
  CHECK_THAT(std::string(refused.message()), Catch::Contains("not heard of since the server started"));
  REQUIRE(worker.Step().ok());
  CHECK(play.Trials(id)[0].attempts() == 1);

  play.Tick(16'000'000);  // the first one's lease is over
  CHECK(play.Sync(other).ok());
  CHECK(StateOf(play, worker.id()) == v1::Worker::LOST);
  CHECK(StateOf(play, other.worker_id()) == v1::Worker::LIVE);
}

TEST_CASE("Loss: a worker that died while the server was down is replaced by its new process at once",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  REQUIRE(worker.Tell().ok());
  std::string old_id = worker.id();
  play.Restart();
  worker.StartAnew();
  REQUIRE(worker.Tell().ok());
  CHECK(StateOf(play, old_id) == v1::Worker::LOST);
  CHECK(StateOf(play, worker.id()) == v1::Worker::LIVE);
}

TEST_CASE("Loss: the held call of a lost worker is refused", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::SyncRequest request = worker.Request();
  request.mutable_hold()->set_seconds(20);
  auto held = play.StartSync(request);
  REQUIRE(play.Inside([&](Engine& engine) {
                engine.recorder().LoseWorker(*engine.workers().Find(worker.id()), "for the test");
              })
              .ok());
  CHECK(held.get().status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Loss: a worker that leaves hands its trial back at no cost, and is then gone", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = RandomJob(1, 6);
  spec.mutable_limits()->set_max_attempts(1);
  std::string id = play.Create(spec);
  REQUIRE(one.Tell().ok());
  for (int i = 0; i < 2; ++i) REQUIRE(one.Step().ok());
  one.leaving = true;
  REQUIRE(one.Tell().ok());
  CHECK(StateOf(play, one.id()) == v1::Worker::LEAVING);
  REQUIRE(one.Step().ok());
  REQUIRE(one.Tell().ok());
  CHECK(StateOf(play, one.id()) == v1::Worker::GONE);
  CHECK(one.Tell().ok());  // once more does no harm
  REQUIRE(two.Tell().ok());
  REQUIRE(two.running.size() == 1);
  CHECK(two.running.begin()->second.assignment.resource_from() == 2);
  v1::TuningJob job = PlayToEnd(play, id, {&two});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.trial_counts().failed() == 0);
  CHECK(job.spend().resource() == 6);
}

TEST_CASE("Loss: a worker that leaves is given nothing", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  REQUIRE(worker.Tell().ok());
  worker.leaving = true;
  play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  CHECK(worker.running.empty());
}

TEST_CASE("Loss: a job survives workers that die at random", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 2);
  v1::TuningJobSpec spec = HyperbandJob(9);
  std::string id = play.Create(spec);
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two}, [&](int step) {
    if (step % 11 == 5) one.StartAnew();
    if (step % 17 == 9) two.StartAnew();
  });
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(play.Trials(id).size() == 17);
  for (const auto& bracket : job.brackets()) {
    for (const auto& rung : bracket.rungs()) CHECK(rung.entered() == rung.width());
  }
}

}  // namespace
}  // namespace winnow
