#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

v1::TuningJobSpec GangJob(int32_t nodes, int64_t trials = 2, int64_t levels = 3) {
  v1::TuningJobSpec spec = RandomJob(trials, levels);
  spec.mutable_cluster()->set_nodes(nodes);
  return spec;
}

// Registers both and has them told of a gang of a rank each, prepare it, and be told to start.
void TellUntilStarted(FakeWorker& one, FakeWorker& two) {
  for (FakeWorker* worker : {&one, &two, &one, &two, &one, &two}) REQUIRE(worker->Tell().ok());
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

TEST_CASE("Gang: starts when every rank is prepared, at the port that rank 0's worker gives", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  play.Create(GangJob(2, 1));
  for (FakeWorker* worker : {&one, &two, &one}) REQUIRE(worker->Tell().ok());
  REQUIRE(one.running.size() == 1);
  REQUIRE(two.running.size() == 1);
  FakeWorker& first = one.running.begin()->second.assignment.rank() == 0 ? one : two;
  FakeWorker& second = &first == &one ? two : one;
  REQUIRE(first.Tell().ok());
  CHECK(first.running.begin()->second.state.state() == v1::RunningAssignment::PREPARED);
  SECTION("told") {
    REQUIRE(second.Tell().ok());  // both are prepared now
    REQUIRE(first.Tell().ok());
  }
  SECTION("with the server killed in between") {
    play.Restart();
    REQUIRE(second.Tell().ok());
    play.Restart();
    REQUIRE(first.Tell().ok());
  }
  for (FakeWorker* worker : {&first, &second}) {
    CHECK(worker->running.begin()->second.state.state() == v1::RunningAssignment::RUNNING);
    CHECK(worker->running.begin()->second.assignment.master_port() == 29500);
  }
}

TEST_CASE("Gang: every rank gets its credentials with the word to start, whichever call is answered with it",
          "[server]") {
  Play play;
  play.rank_tls = RankTls::kAlways;
  play.Restart();
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  play.Create(GangJob(2, 1));
  for (FakeWorker* worker : {&one, &two, &one}) REQUIRE(worker->Tell().ok());
  REQUIRE(one.running.size() == 1);
  // A call that was sent while the rank was being prepared, which is said as one that runs.
  v1::SyncRequest early = one.Request();
  early.mutable_running(0)->set_state(v1::RunningAssignment::RUNNING);
  for (FakeWorker* worker : {&one, &two}) REQUIRE(worker->Tell().ok());
  const absl::StatusOr<v1::SyncResponse> answer = play.Sync(early);
  REQUIRE(answer.ok());
  REQUIRE(answer->assignments_size() == 1);
  CHECK_FALSE(answer->assignments(0).await_start());
  CHECK(answer->assignments(0).credentials().certificate() == std::to_string(answer->assignments(0).rank()));
}

TEST_CASE("Gang: a worker that is lost before the start ends it for the rank that is prepared", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  std::string id = play.Create(GangJob(2, 1));
  for (FakeWorker* worker : {&one, &two, &one, &one}) REQUIRE(worker->Tell().ok());
  CHECK(one.running.begin()->second.state.state() == v1::RunningAssignment::PREPARED);
  two.StartAnew();
  REQUIRE(two.Tell().ok());
  REQUIRE(one.Tell().ok());
  CHECK(one.running.begin()->second.state.state() == v1::RunningAssignment::ENDED);
  CHECK(PlayToEnd(play, id, {&one, &two}).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Trials(id)[0].attempts() == 2);
}

TEST_CASE("Gang: ranks that only lost each other are the machines' loss", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  spec.mutable_limits()->set_max_attempts(1);
  std::string id = play.Create(spec);
  TellUntilStarted(one, two);
  for (FakeWorker* worker : {&one, &two}) {
    v1::RunningAssignment& state = worker->running.begin()->second.state;
    REQUIRE(state.state() == v1::RunningAssignment::RUNNING);
    state.set_state(v1::RunningAssignment::ENDED);
    state.mutable_outcome()->set_kind(v1::Outcome::FAILED);
    state.mutable_outcome()->set_exit_code(75);
    state.mutable_outcome()->set_reason("exit code 75: rank is gone");
    REQUIRE(worker->Tell().ok());
  }
  const v1::TuningJob job = PlayToEnd(play, id, {&one, &two});
  CHECK(job.trial_counts().completed() == 1);
}

TEST_CASE("Gang: when a rank fails the others are stopped, and the attempt ends when all are gone",
          "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  spec.mutable_limits()->set_max_attempts(2);
  std::string id = play.Create(spec);
  TellUntilStarted(one, two);
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

TEST_CASE("Gang: of ranks that fail by themselves the one that did so first is the reason", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  std::string id = play.Create(spec);
  TellUntilStarted(one, two);
  for (FakeWorker* worker : {&one, &two}) {
    v1::RunningAssignment& state = worker->running.begin()->second.state;
    state.set_state(v1::RunningAssignment::ENDED);
    state.mutable_outcome()->set_kind(v1::Outcome::FAILED);
    state.mutable_outcome()->set_exit_code(1);
    const bool first = worker == &two;
    state.mutable_outcome()->set_reason(first ? "KeyError: 'x' (exit code 1)"
                                              : "connection reset (exit code 1)");
    state.mutable_outcome()->mutable_start_time()->set_seconds(100);
    state.mutable_outcome()->mutable_end_time()->set_seconds(first ? 107 : 108);
    REQUIRE(worker->Tell().ok());
  }
  CHECK(play.Trials(id)[0].state_reason() == "rank 1: KeyError: 'x' (exit code 1)");
}

TEST_CASE("Gang: a lost worker explains the failures of the other ranks", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = GangJob(2, 1);
  spec.mutable_limits()->set_max_attempts(1);  // a failure of the trainer's own would end the trial
  std::string id = play.Create(spec);
  TellUntilStarted(one, two);
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
