#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

TEST_CASE("Recovery: a restart in the middle finds everything, and running trials go on", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 1);
  std::string id = play.Create(HyperbandJob(9));
  size_t kept = 0;
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two}, [&](int step) {
    if (step % 5 != 2) return;
    v1::TuningJob before = play.Describe(id);
    std::set<std::string> running;
    for (const auto& [key, run] : one.running) {
      if (run.state.state() == v1::RunningAssignment::RUNNING) running.insert(key);
    }
    play.Restart();
    play.CheckStored();
    CHECK(play.Describe(id).SerializeAsString() == before.SerializeAsString());
    REQUIRE(one.Tell().ok());
    for (const std::string& key : running) kept += one.running.count(key);
    CHECK(std::all_of(running.begin(), running.end(),
                      [&](const auto& key) { return one.running.count(key) == 1; }));
  });
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(kept > 5);
  CHECK(job.spend().resource() == job.planned_resource());
  for (const v1::Trial& trial : play.Trials(id)) CHECK(trial.resource() == trial.trained_resource());
}

TEST_CASE("Recovery: after a restart every worker has a whole lease", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  play.Restart(3'600'000'000);
  play.Tick(14'000'000);
  CHECK(worker.Tell().ok());
  CHECK(worker.running.size() == 1);
  play.Tick(16'000'000);
  CHECK(worker.Tell().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Recovery: a worker that was lost stays so after a restart", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  REQUIRE(worker.Tell().ok());
  play.Tick(16'000'000);
  play.Restart();
  CHECK(worker.Tell().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("Recovery: an attempt that was being stopped is still being stopped", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1));
  REQUIRE(worker.Tell().ok());
  REQUIRE(play.Stop(id).ok());
  play.Restart();
  CHECK(play.Describe(id).state() == v1::TuningJob::STOPPING);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).state() >= v1::TuningJob::COMPLETED);
}

// The disk is full: the pages that the file has may be written, no more.
void FillDisk(Play& play, bool full) {
  REQUIRE(play.Inside([full](Engine& engine) {
                Database& database = engine.context().store.database();
                int64_t pages = full ? *database.QueryInt("PRAGMA page_count") : 1'000'000;
                CHECK(database.QueryInt("PRAGMA max_page_count = " + std::to_string(pages)).ok());
              })
              .ok());
}

TEST_CASE("Recovery: what could not be committed is not acknowledged, and nothing is lost", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 2000));
  REQUIRE(worker.Tell().ok());
  FillDisk(play, true);
  absl::Status status;
  int64_t acknowledged = 0;
  for (int i = 0; i < 2000 && status.ok(); ++i) {
    worker.Train();
    status = worker.Tell();
    if (status.ok()) ++acknowledged;
  }
  REQUIRE(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(std::string(status.message()), Catch::Contains("disk is full"));
  CHECK(play.Describe(id).spend().resource() == acknowledged);
  auto spec = RandomJob(1);
  spec.set_name(std::string(60, 'n'));
  (*spec.mutable_static_hyperparameters())["filler"] = std::string(100'000, 'x');
  CHECK(play.TryCreate(spec).status().code() == absl::StatusCode::kResourceExhausted);

  FillDisk(play, false);
  play.CheckStored();
  REQUIRE(worker.Tell().ok());  // the same report again
  CHECK(play.Describe(id).spend().resource() == acknowledged + 1);
  CHECK(worker.running.size() == 1);  // it is the same attempt
  CHECK(worker.running.begin()->second.assignment.attempt() == 1);
}

TEST_CASE("Recovery: while another process holds the file, callers are asked to try again", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(engine.context().store.database().QueryInt("PRAGMA busy_timeout = 1").ok());
              })
              .ok());
  auto other = Database::Open(play.file(), OpenMode::kReadWrite);
  {
    auto held = Transaction::Begin(**other);
    REQUIRE(held.ok());
    CHECK(worker.Tell().code() == absl::StatusCode::kUnavailable);
  }
  CHECK(worker.Tell().ok());
}

TEST_CASE("Recovery: a record from which a fact was taken away is refused, and the server lives",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(2));
  PlayToEnd(play, id, {&worker});
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(
                    engine.context().store.database().Execute("DELETE FROM events WHERE sequence = 2").ok());
              })
              .ok());
  auto rows = Store::OpenReadOnly(play.file());
  REQUIRE(rows.ok());
  const absl::Status status = Reads(**rows, play.time.clock()).GetRecord(id).status();
  CHECK(status.code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(status.message()), Catch::Contains("\"job\": fact 3 contradicts"));
}

TEST_CASE("Recovery: a client that asks while nothing can be recorded is asked to try again", "[server]") {
  Play play;
  v1::TuningJobSpec spec = RandomJob(2);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  spec.mutable_limits()->set_max_parallel_trials(1);
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(spec));
  REQUIRE(play.Ask(ask)->trials_size() == 1);
  ask.mutable_wait()->set_seconds(60);
  auto held = play.StartAsk(ask);
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(engine.held_suggest_calls() == 1);
                engine.context().Note(absl::ResourceExhaustedError("the disk is full"));
              })
              .code() == absl::StatusCode::kResourceExhausted);
  CHECK(held.get().status().code() == absl::StatusCode::kUnavailable);
  play.CheckStored();
  CHECK(play.Describe(ask.job_id()).trial_counts().running() == 1);  // it is still the first's
}

}  // namespace
}  // namespace winnow
