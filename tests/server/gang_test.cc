#include "tests/catch.h"
#include "tests/server/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec GangJob(int32_t nodes, int64_t trials = 2, int64_t levels = 3) {
  v1::TuningJobSpec spec = RandomJob(trials, levels);
  spec.mutable_cluster()->set_nodes(nodes);
  return spec;
}

TEST_CASE("Gang: is placed whole or not at all", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 2);
  std::string id = play.Create(GangJob(3));
  REQUIRE(one.Tell().ok());
  CHECK(one.running.empty());
  REQUIRE(two.Tell().ok());
  REQUIRE(one.Tell().ok());
  CHECK(one.running.size() + two.running.size() == 3);
  std::set<int32_t> ranks;
  for (const FakeWorker* worker : {&one, &two}) {
    for (const auto& [key, run] : worker->running) {
      ranks.insert(run.assignment.rank());
      CHECK(run.assignment.world_size() == 3);
      CHECK(run.assignment.peers_size() == 3);
    }
  }
  CHECK(ranks == std::set<int32_t>{0, 1, 2});
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.spend().billable_node_seconds() == Approx(3 * job.spend().training_seconds()));
}

TEST_CASE("Gang: when a rank fails the others are stopped, and the attempt ends when all are gone",
          "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  spec.mutable_limits()->set_max_attempts(2);
  std::string id = play.Create(spec);
  for (FakeWorker* worker : {&one, &two, &one}) REQUIRE(worker->Tell().ok());
  REQUIRE(one.running.size() == 1);
  REQUIRE(two.running.size() == 1);
  one.fails_at = {{1, 1}};
  REQUIRE(one.Step().ok());
  one.fails_at.clear();
  CHECK(one.running.empty());  // no new attempt while the other rank may still write the checkpoint
  CHECK(play.Trials(id)[0].attempts() == 1);
  REQUIRE(two.Tell().ok());  // hears that it is to stop
  REQUIRE(two.Tell().ok());  // is gone
  CHECK(play.Trials(id)[0].attempts() == 2);
  CHECK(PlayToEnd(play, id, {&one, &two}).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Gang: a lost worker explains the failures of the other ranks", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  spec.mutable_limits()->set_max_attempts(1);  // a failure of the trainer's own would end the trial
  std::string id = play.Create(spec);
  for (FakeWorker* worker : {&one, &two, &one}) REQUIRE(worker->Tell().ok());
  two.StartAnew();  // killed; its peer sees the connection break
  one.fails_at = {{1, 1}};
  REQUIRE(one.Step().ok());
  one.fails_at.clear();
  REQUIRE(two.Tell().ok());
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.trial_counts().failed() == 0);
}

TEST_CASE("Gang: small jobs do not starve a large one", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 3);
  std::string small = play.Create(RandomJob(100, 3));
  REQUIRE(worker.Tell().ok());
  std::string large = play.Create(GangJob(3, 1));
  for (int step = 0; step < 20 && play.Describe(large).state() == v1::TuningJob::RUNNING; ++step) {
    REQUIRE(worker.Step().ok());
  }
  CHECK(play.Describe(large).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(small).state() == v1::TuningJob::RUNNING);
}

TEST_CASE("Gang: a job that nobody present can train says what it waits for", "[server]") {
  Play play;
  std::string id = play.Create(GangJob(3));
  CHECK(play.Describe(id).state_reason() == "Waiting for a worker: none is present.");
  FakeWorker one(play, "one", 2), two(play, "two", 1);
  REQUIRE(one.Tell().ok());
  CHECK(play.Describe(id).state() == v1::TuningJob::RUNNING);
  CHECK(play.Describe(id).state_reason() == "Waiting for 3 slots at once: the workers present have 2.");
  REQUIRE(two.Tell().ok());
  CHECK(play.Describe(id).state_reason() == "");
  v1::TuningJob ended = PlayToEnd(play, id, {&one, &two});
  CHECK_THAT(ended.state_reason(), !Catch::Contains("Waiting"));
}

TEST_CASE("Gang: one that no cluster at hand could hold keeps nobody waiting", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  play.Create(GangJob(5));
  std::string small = play.Create(RandomJob(2, 2));
  CHECK(PlayToEnd(play, small, {&worker}).state() == v1::TuningJob::COMPLETED);
}

}  // namespace
}  // namespace winnow
