#include "server/engine/coordinator.h"

#include <chrono>
#include <thread>

#include "scheduler/replay.h"
#include "server/engine/answers/job_view.h"
#include "spec/search_spec.h"
#include "tests/catch.h"
#include "tests/server/engine/fake_blobs.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

TEST_CASE("Coordinator: plays a whole Hyperband job", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 2);
  std::string id = play.Create(HyperbandJob(9));
  v1::TuningJob job = PlayToEnd(play, id, {&one, &two});
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  // R = 9, eta = 3: 9, 5 and 3 configurations; 3 brackets.
  REQUIRE(job.brackets_size() == 3);
  CHECK(play.Trials(id).size() == 17);
  CHECK(job.trial_counts().completed() + job.trial_counts().pruned() == 17);
  for (const auto& bracket : job.brackets()) {
    for (const auto& rung : bracket.rungs()) {
      CHECK(rung.entered() == rung.width());
      CHECK(rung.arrived() == rung.width());
      CHECK(rung.running() == 0);
    }
  }
  CHECK(job.spend().resource() == job.planned_resource());
  CHECK(job.spend().full_resource() == 17 * 9);
  CHECK(job.spend().saved_resource() == 17 * 9 - job.spend().resource());
  CHECK(job.spend().training_seconds() > 0);
  CHECK(job.best().resource() == 9);
  for (const v1::Trial& trial : play.Trials(id)) {
    CHECK(trial.state_reason() != "");
    CHECK(trial.end_time().seconds() > 0);
    CHECK(trial.trained_resource() == trial.resource());
  }
}

TEST_CASE("Coordinator: what was saved is what pruned trials did not train, and nothing else", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  worker.fails_at = {{2, 3}};
  const std::string id = play.Create(RandomJob(3));
  CHECK(play.Describe(id).spend().saved_resource() == 0);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  CHECK(play.Describe(id).spend().saved_resource() == 0);  // what runs has saved nothing yet
  v1::TuningJob job = PlayToEnd(play, id, {&worker});
  CHECK(job.trial_counts().failed() == 1);
  CHECK(job.spend().resource() < job.spend().full_resource());
  CHECK(job.spend().saved_resource() == 0);  // nor has what failed
  const std::string stopped = play.Create(HyperbandJob(9));
  for (int i = 0; i < 4; ++i) REQUIRE(worker.Step().ok());
  REQUIRE(play.Stop(stopped).ok());
  job = PlayToEnd(play, stopped, {&worker});
  CHECK(job.trial_counts().cancelled() > 0);
  CHECK(job.trial_counts().pruned() == 0);
  CHECK(job.spend().saved_resource() == 0);  // nor what was cancelled
}

TEST_CASE("Coordinator: every recorded decision follows from the facts before it", "[server]") {
  Play play;
  FakeWorker one(play, "one", 3);
  v1::TuningJobSpec spec = HyperbandJob(27);
  std::string id = play.Create(spec);
  one.fails_at = {{2, 1}, {5, 2}};
  PlayToEnd(play, id, {&one});
  Mismatch mismatch = Verify(ToSearchSpec(spec), play.Facts(id));
  INFO(mismatch.sequence << " recorded " << mismatch.recorded << ", expected " << mismatch.expected);
  CHECK(mismatch.ok());
}

TEST_CASE("Coordinator: random search tries the same whatever the parallelism", "[server]") {
  std::vector<std::string> tried;
  for (int32_t slots : {1, 4}) {
    Play play;
    FakeWorker worker(play, "one", slots);
    std::string id = play.Create(RandomJob(8, 4));
    PlayToEnd(play, id, {&worker});
    std::string all;
    for (const v1::Trial& trial : play.Trials(id)) {
      all += trial.hyperparameters(0).ShortDebugString() + " " + std::to_string(trial.objective()) + "\n";
    }
    tried.push_back(all);
  }
  CHECK(tried[0] == tried[1]);
}

TEST_CASE("Coordinator: a request id creates one job", "[server]") {
  Play play;
  std::string id = play.Create(RandomJob(1), "same");
  CHECK(play.Create(RandomJob(2), "same") == id);
  CHECK(play.Create(RandomJob(1)) == "job-2");
  play.Restart();
  CHECK(play.Create(RandomJob(1), "same") == id);
}

TEST_CASE("Coordinator: a stopped job ends when its processes are gone, not before", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  std::string id = play.Create(RandomJob(10));
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  CHECK(worker.running.size() == 2);
  REQUIRE(play.Stop(id).ok());
  CHECK(play.Describe(id).state() == v1::TuningJob::STOPPING);
  CHECK(play.Delete(id).code() == absl::StatusCode::kFailedPrecondition);
  REQUIRE(worker.Tell().ok());  // is told to stop
  CHECK(play.Describe(id).state() == v1::TuningJob::STOPPING);
  REQUIRE(worker.Tell().ok());  // they are gone
  v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::STOPPED);
  CHECK(job.trial_counts().cancelled() == 2);
  CHECK(job.trial_counts().pruned() == 0);
  for (const v1::Trial& trial : play.Trials(id)) CHECK(trial.state() == v1::Trial::CANCELLED);
  CHECK(worker.running.empty());
  CHECK(play.Stop(id).ok());  // changes nothing
  CHECK(play.Describe(id).last_sequence() == job.last_sequence());
}

TEST_CASE("Coordinator: a job that was stopped before anything ran ends at once", "[server]") {
  Play play;
  std::string id = play.Create(RandomJob(10));
  REQUIRE(play.Stop(id).ok());
  CHECK(play.Describe(id).state() >= v1::TuningJob::COMPLETED);
  CHECK(play.Stop("nothing").code() == absl::StatusCode::kNotFound);
}

TEST_CASE("Coordinator: a deleted job is forgotten, its id stays taken", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  std::string id = play.Create(RandomJob(1, 2));
  PlayToEnd(play, id, {&worker});
  REQUIRE(play.Delete(id).ok());
  CHECK(play.Delete(id).code() == absl::StatusCode::kNotFound);
  CHECK(play.Create(RandomJob(1)) == "job-2");
}

int64_t RowsOf(Play& play, const std::string& table) {
  int64_t rows = 0;
  REQUIRE(play.Inside([&](Engine& engine) {
                rows = *engine.context().store.database().QueryInt("SELECT COUNT(*) FROM " + table);
              })
              .ok());
  return rows;
}

TEST_CASE("Coordinator: the rows of a deleted job go afterwards, also under the next server", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  const std::string id = play.Create(RandomJob(3, 2));
  PlayToEnd(play, id, {&worker});
  REQUIRE(play.Inside([&](Engine& engine) { REQUIRE(engine.DeleteJob(id, {}).ok()); }).ok());
  play.Restart();
  for (int i = 0; i < 20 && RowsOf(play, "jobs") > 0; ++i) play.Tick(100'000);
  for (const char* table : {"jobs", "events", "reports", "trials", "assignments"}) {
    INFO(table);
    CHECK(RowsOf(play, table) == 0);
  }
}

TEST_CASE("Coordinator: jobs are deleted when they ended longer ago than they are kept, and that is audited",
          "[server]") {
  constexpr int64_t kHour = 3'600'000'000;
  Play play;
  play.jobs_keep_us = 10 * kHour;
  play.Restart();
  FakeWorker worker(play, "one", 1);
  const std::string old = play.Create(RandomJob(1, 2));
  PlayToEnd(play, old, {&worker});
  play.Tick(9 * kHour);
  worker.StartAnew();
  const std::string young = play.Create(RandomJob(1, 2)), open = play.Create(RandomJob(1, 2));
  PlayToEnd(play, young, {&worker});
  CHECK(play.Describe(old).state() == v1::TuningJob::COMPLETED);
  play.Tick(2 * kHour);
  CHECK(play.Delete(old).code() == absl::StatusCode::kNotFound);
  CHECK(play.Describe(young).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(open).state() == v1::TuningJob::RUNNING);
  REQUIRE(play.Inside([&](Engine& engine) {
                const auto entries = *engine.context().store.audit.List({}, INT64_MAX, 9);
                REQUIRE(entries.size() == 1);
                CHECK(entries[0].person == "winnow-server");
                CHECK(entries[0].job == old);
              })
              .ok());
}

TEST_CASE("Coordinator: a job that is continued in the moment in which it has become too old stays",
          "[server]") {
  constexpr int64_t kHour = 3'600'000'000;
  Play play;
  play.jobs_keep_us = 10 * kHour;
  play.Restart();
  FakeWorker worker(play, "one", 1);
  const std::string old = play.Create(RandomJob(1, 2)), other = play.Create(RandomJob(1, 2));
  PlayToEnd(play, old, {&worker});
  PlayToEnd(play, other, {&worker});
  REQUIRE(play.Inside([](Engine&) {}).ok());
  play.time.now_us += 11 * kHour;
  v1::ChangeTuningJobRequest more;
  more.set_id(old);
  more.mutable_continue_with()->set_max_trials(2);
  REQUIRE(play.Inside([&](Engine& engine) { REQUIRE(engine.ChangeJob(more, Requester{}).ok()); }).ok());
  CHECK(play.Describe(old).state() == v1::TuningJob::RUNNING);
  CHECK(play.Delete(other).code() == absl::StatusCode::kNotFound);
  play.Restart();
  CHECK(play.Describe(old).state() == v1::TuningJob::RUNNING);
}

std::vector<std::string> DetailsOfAudit(Play& play) {
  std::vector<std::string> details;
  REQUIRE(play.Inside([&](Engine& engine) {
                const auto entries = *engine.context().store.audit.List({}, INT64_MAX, 9);
                for (const AuditRow& entry : entries) details.push_back(entry.job + ": " + entry.detail);
              })
              .ok());
  return details;
}

TEST_CASE("Coordinator: the newest ended jobs of each project are kept", "[server]") {
  constexpr int64_t kHour = 3'600'000'000;
  Play play;
  play.jobs_keep_number = 2;
  play.Restart();
  FakeWorker worker(play, "one", 1);
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) {
    ids.push_back(play.Create(RandomJob(1, 2)));
    PlayToEnd(play, ids.back(), {&worker});
  }
  const std::string open = play.Create(RandomJob(1, 2));
  play.Tick(kHour);
  CHECK(play.Delete(ids[0]).code() == absl::StatusCode::kNotFound);
  CHECK(play.Describe(ids[1]).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(ids[2]).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(open).state() == v1::TuningJob::RUNNING);
  CHECK(DetailsOfAudit(play) ==
        std::vector<std::string>{ids[0] + ": its project has more ended jobs than --keep-jobs-number says"});
}

TEST_CASE(
    "Coordinator: ended jobs go while all jobs have stored too much, the one that ended first before others",
    "[server]") {
  constexpr int64_t kHour = 3'600'000'000;
  FakeBlobs blobs;
  Play play{15'000'000, &blobs};
  FakeWorker worker(play, "one", 1);
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(play.Create(RandomJob(1, 2)));
    if (i < 3) PlayToEnd(play, ids.back(), {&worker});
  }
  // The first stores nothing, so that its end would free nothing.
  REQUIRE(
      play.Inside([&](Engine& engine) {
            Store& store = engine.context().store;
            for (size_t i = 1; i < ids.size(); ++i) {
              ArtifactRow row;
              row.job = (*store.jobs.Find(ids[i]))->key;
              row.trial = 1;
              row.kind = ArtifactKind::kModel;
              REQUIRE(store.artifacts.Put(row, {{std::string(64, static_cast<char>('a' + i)), 100}}).ok());
            }
          })
          .ok());
  play.jobs_keep_bytes = 200;
  play.Restart();
  play.Tick(kHour);
  CHECK(play.Describe(ids[0]).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Delete(ids[1]).code() == absl::StatusCode::kNotFound);
  CHECK(play.Describe(ids[2]).state() == v1::TuningJob::COMPLETED);
  CHECK(play.Describe(ids[3]).state() == v1::TuningJob::RUNNING);
  CHECK(DetailsOfAudit(play) ==
        std::vector<std::string>{ids[1] + ": jobs had stored more than --keep-jobs-gib says"});
}

TEST_CASE("Coordinator: a trial that fails again and again is given up, and a job of such trials fails",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(2, 3);
  spec.mutable_limits()->set_max_attempts(2);
  worker.fails_at = {{1, 1}, {2, 1}};
  std::string id = play.Create(spec);
  v1::TuningJob job = PlayToEnd(play, id, {&worker});
  CHECK(job.state() == v1::TuningJob::FAILED);
  CHECK(job.state_reason() != "");
  std::vector<v1::Trial> trials = play.Trials(id);
  REQUIRE(trials.size() == 2);
  CHECK(trials[0].attempts() == 2);
  CHECK(trials[0].state() == v1::Trial::FAILED);
  CHECK_THAT(trials[0].state_reason(), Catch::Contains("out of luck"));
}

TEST_CASE("Coordinator: a record that makes no sense is refused at the start, by name", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(2));
  REQUIRE(worker.Tell().ok());
  REQUIRE(play.Inside([](Engine& engine) {
                CHECK(engine.context()
                          .store.database()
                          .Execute("UPDATE events SET trial = 7 WHERE kind = 'attempt_started'")
                          .ok());
              })
              .ok());
  Hub hub;
  EngineOptions options;
  options.clock = play.time.clock();
  auto second = Coordinator::Start(*Store::Open(play.file()), hub, std::move(options));
  CHECK(second.status().code() == absl::StatusCode::kDataLoss);
  CHECK_THAT(std::string(second.status().message()), Catch::StartsWith("job \"job\": fact 2 contradicts"));
}

TEST_CASE("Coordinator: two jobs share the slots", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 4);
  std::string first = play.Create(RandomJob(20, 50));
  REQUIRE(worker.Tell().ok());
  std::string second = play.Create(RandomJob(20, 50));
  // The first holds all slots; as they come free they go to the job that holds fewer.
  worker.fails_at = {{1, 1}, {2, 1}};
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  std::map<std::string, int> held;
  for (const auto& [id, run] : worker.running) {
    if (run.state.state() == v1::RunningAssignment::RUNNING) ++held[run.assignment.job_id()];
  }
  CHECK(held[first] == 2);
  CHECK(held[second] == 2);
}

TEST_CASE("Coordinator: never more than max_parallel_trials at a time", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  v1::TuningJobSpec spec = RandomJob(10, 3);
  spec.mutable_limits()->set_max_parallel_trials(3);
  std::string id = play.Create(spec);
  size_t most = 0;
  PlayToEnd(play, id, {&worker}, [&](int) { most = std::max(most, worker.running.size()); });
  CHECK(most == 3);
}

TEST_CASE("Coordinator: at the wall-time limit a job ends, also after a restart", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 1);
  v1::TuningJobSpec spec = RandomJob(10, 1000);
  spec.mutable_limits()->mutable_max_wall_time()->set_seconds(60);
  std::string id = play.Create(spec);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Step().ok());
  bool restarted = GENERATE(false, true);
  if (restarted) {
    play.Restart(61'000'000);
    play.Tick(0);
  } else {
    for (int i = 0; i < 7; ++i) {
      play.Tick(9'000'000);
      REQUIRE(worker.Step().ok());
    }
  }
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Tell().ok());
  v1::TuningJob job = play.Describe(id);
  CHECK(job.state() == v1::TuningJob::COMPLETED);
  CHECK(job.trial_counts().cancelled() == 1);
}

v1::TuningJob AwaitChoice(Play& play, const std::string& id) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    v1::TuningJob job = play.Describe(id);
    if (job.best().has_expected()) return job;
    std::this_thread::yield();
  }
  FAIL("no trial was chosen");
  return {};
}

TEST_CASE("Coordinator: an ended job under EXPECTED hands out what the model expects to be best",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  v1::TuningJobSpec spec = RandomJob(12, 1);
  spec.mutable_objective()->set_selection(v1::ObjectiveSpec::EXPECTED);
  std::string id = play.Create(spec);
  PlayToEnd(play, id, {&worker});
  const v1::TuningJob chosen = AwaitChoice(play, id);
  const std::vector<Fact> facts = play.Facts(id);
  JobState state(ToSearchSpec(spec));
  for (const Fact& fact : facts) state.Apply(fact);
  const std::optional<v1::BestTrial> again = HandedOut(state, spec);
  REQUIRE(again);
  CHECK(chosen.best().DebugString() == again->DebugString());
  CHECK(chosen.best().expected_error() > 0);

  // A server that was killed before the choice was recorded makes it when it starts again.
  REQUIRE(play.Inside([&](Engine& engine) {
                v1::TuningJob forgotten = chosen;
                forgotten.clear_spec();
                *forgotten.mutable_best() = BestMessage(state, *state.best_trial());
                const auto row = engine.context().store.jobs.Find(id);
                engine.context().Note(engine.context().store.summaries.PutDescription(
                    (**row).key, forgotten.SerializeAsString()));
              })
              .ok());
  CHECK_FALSE(play.Describe(id).best().has_expected());
  play.Restart();
  CHECK(AwaitChoice(play, id).best().DebugString() == again->DebugString());

  // Under SEEN nothing is chosen: the best is the one seen.
  spec.mutable_objective()->set_selection(v1::ObjectiveSpec::SEEN);
  id = play.Create(spec);
  PlayToEnd(play, id, {&worker});
  CHECK_FALSE(play.Describe(id).best().has_expected());
}

}  // namespace
}  // namespace winnow
