#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

absl::StatusOr<v1::Worker> Mark(Play& play, const std::string& name, v1::Worker::Scheduling scheduling) {
  v1::SetWorkerSchedulingRequest request;
  request.set_name(name);
  request.set_scheduling(scheduling);
  request.set_reason("new disk");
  absl::StatusOr<v1::Worker> answer;
  REQUIRE(play.Inside([&](Engine& engine) { answer = engine.SetWorkerScheduling(request); }).ok());
  return answer;
}

v1::Worker Named(Play& play, const std::string& name) {
  for (const v1::Worker& worker : play.Workers(false)) {
    if (worker.name() == name) return worker;
  }
  FAIL("no worker " << name);
  return {};
}

// As of a worker that cannot reach the artifact store, or finds no port.
v1::Outcome NotReached() {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_exit_code(75);
  outcome.set_reason("the checkpoint cannot be fetched from the server");
  return outcome;
}

v1::Outcome NotStarted() {
  v1::Outcome outcome;
  outcome.set_kind(v1::Outcome::FAILED);
  outcome.set_cause(v1::Outcome::NOT_STARTED);
  outcome.set_reason("no space left");
  return outcome;
}

TEST_CASE("Worker marks: a cordoned worker goes on with what it runs and is given nothing new", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1);
  std::string id = play.Create(RandomJob(3, 3));
  REQUIRE(one.Tell().ok());
  REQUIRE(one.running.size() == 1);
  CHECK(Mark(play, "one", v1::Worker::CORDONED)->scheduling() == v1::Worker::CORDONED);
  for (int step = 0; step < 10; ++step) REQUIRE(one.Step().ok());
  CHECK(one.running.empty());
  CHECK(play.Describe(id).trial_counts().completed() == 1);
  CHECK(Named(play, "one").scheduling_reason() == "new disk");
  REQUIRE(Mark(play, "one", v1::Worker::OPEN).ok());
  CHECK(PlayToEnd(play, id, {&one}).trial_counts().completed() == 3);
}

TEST_CASE("Worker marks: hold over restarts of the server and of the worker", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1);
  REQUIRE(one.Tell().ok());
  REQUIRE(Mark(play, "one", v1::Worker::CORDONED).ok());
  play.Restart();
  one.StartAnew();
  play.Create(RandomJob(1, 2));
  REQUIRE(one.Tell().ok());
  CHECK(one.running.empty());
  CHECK(Named(play, "one").scheduling() == v1::Worker::CORDONED);
}

TEST_CASE("Worker marks: draining hands back what runs, at no attempt's cost", "[server]") {
  Play play;
  FakeWorker one(play, "one", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = RandomJob(1, 9);
  spec.mutable_limits()->set_max_attempts(1);
  spec.mutable_limits()->set_max_lost_attempts(1);
  std::string id = play.Create(spec);
  REQUIRE(one.Tell().ok());
  REQUIRE(one.Step().ok());
  REQUIRE(Mark(play, "one", v1::Worker::DRAINING).ok());
  REQUIRE(one.Tell().ok());  // is told to stop
  REQUIRE(one.Tell().ok());  // it is gone
  CHECK(one.running.empty());
  CHECK(PlayToEnd(play, id, {&one, &two}).trial_counts().completed() == 1);
  const std::vector<Fact> facts = play.Facts(id);
  const auto handed_back = std::find_if(facts.begin(), facts.end(), [](const Fact& fact) {
    const auto* ended = std::get_if<AttemptEnded>(&fact.body);
    return ended != nullptr && ended->outcome == AttemptOutcome::kHandedBack;
  });
  REQUIRE(handed_back != facts.end());
  CHECK(std::get<AttemptEnded>(handed_back->body).reason == "worker one is drained: new disk");
}

TEST_CASE("Worker marks: nobody of that name", "[server]") {
  Play play;
  CHECK(Mark(play, "nobody", v1::Worker::CORDONED).status().code() == absl::StatusCode::kNotFound);
  FakeWorker one(play, "one", 1);
  REQUIRE(one.Tell().ok());
  CHECK(Mark(play, "one", v1::Worker::QUARANTINED).status().code() == absl::StatusCode::kInvalidArgument);
}

TEST_CASE("Worker marks: one that is lost again and again is quarantined for a while", "[server]") {
  Play play(1'000'000);
  FakeWorker one(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(1, 9);
  std::string id = play.Create(spec);
  for (int loss = 0; loss < 3; ++loss) {
    one.StartAnew();
    REQUIRE(one.Tell().ok());
    REQUIRE(one.running.size() == 1);
    play.Tick(1'100'000);
  }
  one.StartAnew();
  REQUIRE(one.Tell().ok());
  CHECK(one.running.empty());
  CHECK(Named(play, "one").scheduling() == v1::Worker::QUARANTINED);
  CHECK(Named(play, "one").scheduling_reason() ==
        "3 losses in 40 s, last: worker one was not heard of for 1.0 s");
  for (int beat = 0; beat < 25; ++beat) {
    play.Tick(900'000);
    REQUIRE(one.Tell().ok());
  }
  CHECK(Named(play, "one").scheduling() == v1::Worker::OPEN);
  CHECK(PlayToEnd(play, id, {&one}).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Worker marks: what a worker cannot start goes elsewhere and costs none of the trainer's attempts",
          "[server]") {
  Play play;
  FakeWorker full(play, "full", 1), two(play, "two", 1);
  v1::TuningJobSpec spec = RandomJob(1, 2);
  spec.mutable_limits()->set_max_attempts(1);
  std::string id = play.Create(spec);
  for (int failure = 0; failure < 3; ++failure) {
    REQUIRE(full.Tell().ok());
    REQUIRE(full.running.size() == 1);
    v1::RunningAssignment& state = full.running.begin()->second.state;
    state.set_state(v1::RunningAssignment::ENDED);
    *state.mutable_outcome() = NotStarted();
  }
  REQUIRE(full.Tell().ok());
  CHECK(Named(play, "full").scheduling() == v1::Worker::QUARANTINED);
  CHECK(Named(play, "full").scheduling_reason() == "3 failed starts in 600 s, last: no space left");
  const v1::TuningJob job = PlayToEnd(play, id, {&full, &two});
  CHECK(job.trial_counts().completed() == 1);
  CHECK(play.Trials(id)[0].attempts() == 4);
}

TEST_CASE(
    "Worker marks: what the server or the network owes a start counts neither against the worker nor the "
    "trainer",
    "[server]") {
  Play play;
  FakeWorker one(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(1, 2);
  spec.mutable_limits()->set_max_attempts(1);
  std::string id = play.Create(spec);
  for (int failure = 0; failure < 6; ++failure) {
    REQUIRE(one.Tell().ok());
    REQUIRE(one.running.size() == 1);
    v1::RunningAssignment& state = one.running.begin()->second.state;
    state.set_state(v1::RunningAssignment::ENDED);
    *state.mutable_outcome() = NotReached();
  }
  REQUIRE(one.Tell().ok());
  CHECK(Named(play, "one").scheduling() == v1::Worker::OPEN);
  CHECK(PlayToEnd(play, id, {&one}).trial_counts().completed() == 1);
}

}  // namespace
}  // namespace winnow
