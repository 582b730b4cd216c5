// What quotas of projects and persons let start, and what those who wait are told.

#include <sqlite3.h>

#include <string_view>

#include "store/database/sqlite_database.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/server/engine/project_jobs.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

constexpr int64_t kHour = 3'600'000'000;

TEST_CASE("Quotas: a project holds no more slots than its quota, and a job that waits says why", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 16);
  SetQuota(play, {"vision", "", {.slots = 8}});
  const std::string first = CreateIn(play, "vision", "ana", RandomJob(100, 1000));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(first).trial_counts().running() == 8);
  const std::string second = CreateIn(play, "vision", "ben", RandomJob(100, 1000)),
                    other = CreateIn(play, "speech", "cem", RandomJob(100, 1000));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(second).trial_counts().running() == 0);
  CHECK(play.Describe(second).state_reason() == "Project vision has 8 of its 8 slots.");
  CHECK(play.Describe(other).trial_counts().running() == 8);
  SetQuota(play, {"vision", "", {.slots = 9}});
  REQUIRE(play.Stop(other).ok());
  for (int i = 0; i < 2; ++i) REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(first).trial_counts().running() + play.Describe(second).trial_counts().running() == 9);
  play.Restart();
  for (int i = 0; i < 2; ++i) REQUIRE(worker.Step().ok());
  CHECK(play.Describe(first).trial_counts().running() + play.Describe(second).trial_counts().running() == 9);
  SetQuota(play, {"vision", "", {}});
  for (int i = 0; i < 2; ++i) REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(first).trial_counts().running() + play.Describe(second).trial_counts().running() == 16);
}

TEST_CASE("Quotas: a lower one stops nothing that runs, and a person's is within the project's", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  const std::string first = CreateIn(play, "vision", "ana", RandomJob(8, 2));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(first).trial_counts().running() == 8);
  SetQuota(play, {"vision", "ana", {.slots = 2}});
  SetQuota(play, {"vision", "", {.slots = 6}});
  REQUIRE(worker.Step().ok());
  CHECK(play.Describe(first).trial_counts().running() == 8);
  REQUIRE(PlayToEnd(play, first, {&worker}).state() == v1::TuningJob::COMPLETED);
  const std::string anas = CreateIn(play, "vision", "ana", RandomJob(100, 1000)),
                    later = CreateIn(play, "vision", "ana", RandomJob(100, 1000)),
                    bens = CreateIn(play, "vision", "ben", RandomJob(100, 1000));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(anas).trial_counts().running() + play.Describe(later).trial_counts().running() == 2);
  CHECK(play.Describe(bens).trial_counts().running() == 4);
  REQUIRE(play.Stop(play.Describe(anas).trial_counts().running() == 2 ? anas : later).ok());
  SetQuota(play, {"vision", "ana", {.slots = 1}});
  CHECK_THAT(
      play.Describe(play.Describe(anas).state() == v1::TuningJob::RUNNING ? anas : later).state_reason(),
      Catch::Contains("slots"));
}

TEST_CASE("Quotas: a gang starts whole within the quota, or waits, and one that never fits is refused",
          "[server]") {
  Play play;
  FakeWorker one(play, "one", 4), two(play, "two", 4);
  SetQuota(play, {"vision", "", {.slots = 5}});
  const std::string single = CreateIn(play, "vision", "ana", RandomJob(3, 1000));
  REQUIRE(one.Tell().ok());
  REQUIRE(two.Tell().ok());
  v1::TuningJobSpec gang = RandomJob(1, 2);
  gang.mutable_cluster()->set_nodes(3);
  const std::string wide = CreateIn(play, "vision", "ana", gang);
  CHECK(play.Describe(wide).state_reason() ==
        "Project vision has 3 of its 5 slots, and a trial of this job takes 3.");
  REQUIRE(play.Stop(single).ok());
  CHECK(PlayToEnd(play, wide, {&one, &two}).state() == v1::TuningJob::COMPLETED);
  gang.mutable_cluster()->set_nodes(6);
  const absl::Status refused = TryCreateIn(play, "vision", "ana", gang).status();
  CHECK(refused.code() == absl::StatusCode::kInvalidArgument);
  CHECK_THAT(std::string(refused.message()),
             Catch::Contains("cluster.nodes: is 6, so that a trial takes 6 slots; expected at most 5 slots, "
                             "the quota of project vision"));
  CHECK(TryCreateIn(play, "", "ana", gang).ok());
  SetQuota(play, {"vision", "ana", {.slots = 2}});
  gang.mutable_cluster()->set_nodes(1);
  gang.mutable_cluster()->set_slots(3);
  CHECK_THAT(
      std::string(TryCreateIn(play, "vision", "ana", gang).status().message()),
      Catch::Contains("cluster.slots: is 3; expected at most 2 slots, the quota of ana in project vision"));
  CHECK(TryCreateIn(play, "vision", "ben", gang).ok());
}

TEST_CASE("Quotas: GPUs count as those that ranks have, shared ones in parts", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 16);
  worker.gpus = {"0", "1", "2", "3"};
  SetQuota(play, {"vision", "", {.gpus = 1.5}});
  v1::TuningJobSpec spec = RandomJob(100, 1000);
  spec.mutable_cluster()->set_gpu_share(0.25);
  const std::string shared = CreateIn(play, "vision", "ana", spec);
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(shared).trial_counts().running() == 6);
  spec.mutable_cluster()->clear_gpu_share();
  spec.mutable_cluster()->set_gpus(1);
  const std::string whole = CreateIn(play, "vision", "ana", spec);
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(whole).state_reason() == "Project vision has 1.5 of its 1.5 GPUs.");
  spec.mutable_cluster()->set_gpus(2);
  CHECK_THAT(std::string(TryCreateIn(play, "vision", "ana", spec).status().message()),
             Catch::Contains("cluster.gpus: is 2; expected at most 1.5 GPUs, the quota of project vision"));
}

TEST_CASE("Quotas: no more jobs run than the quota says, and the next starts when one has ended",
          "[server]") {
  Play play;
  FakeWorker worker(play, "one", 8);
  SetQuota(play, {"", "", {.running_jobs = 1}});
  const std::string first = CreateIn(play, "", "", RandomJob(2, 2)),
                    second = CreateIn(play, "", "", RandomJob(2, 2));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(first).trial_counts().running() == 2);
  CHECK(play.Describe(second).state_reason() == "The default project has 1 of its 1 running job.");
  REQUIRE(PlayToEnd(play, first, {&worker}).state() == v1::TuningJob::COMPLETED);
  CHECK(PlayToEnd(play, second, {&worker}).state() == v1::TuningJob::COMPLETED);
}

TEST_CASE("Quotas: node-hours of a month stop what runs when they are used up, and begin anew", "[server]") {
  Play play(1000 * kHour);
  play.time.now_us = 1'767'225'600'000'000 - 4 * kHour;  // four hours before 2026
  FakeWorker worker(play, "one", 2);
  SetQuota(play, {"vision", "", {.node_hours = 3}});
  const std::string id = CreateIn(play, "vision", "ana", RandomJob(2, 1000));
  REQUIRE(worker.Tell().ok());
  play.Tick(kHour);
  play.Restart();  // what was used is known after a kill
  play.Tick(kHour / 2 - 1);
  REQUIRE(worker.Step().ok());
  CHECK(play.Describe(id).trial_counts().running() == 2);
  play.Tick(1);
  REQUIRE(worker.Tell().ok());
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 0);
  CHECK(play.Describe(id).state_reason() ==
        "Project vision has used its 3 node-hours of December 2025; they count anew from 1 January 2026 "
        "(UTC).");
  for (const v1::Trial& trial : play.Trials(id)) CHECK(trial.state() == v1::Trial::PENDING);
  for (const Fact& fact : play.Facts(id)) {
    const auto* ended = std::get_if<AttemptEnded>(&fact.body);
    CHECK((ended == nullptr || ended->outcome == AttemptOutcome::kHandedBack));  // which no limit counts
  }
  play.Restart();
  play.Tick(2 * kHour);
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 0);
  play.Tick(kHour / 2);
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 2);
  CHECK(play.Describe(id).state() == v1::TuningJob::RUNNING);
}

TEST_CASE("Quotas: node-hours that run out in the middle of a batch, or while no server runs, stop what runs",
          "[server]") {
  Play play(1000 * kHour);
  FakeWorker worker(play, "one", 2);
  SetQuota(play, {"vision", "", {.node_hours = 3}});
  const std::string id = CreateIn(play, "vision", "ana", RandomJob(2, 1000));
  REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 2);
  SECTION("in a batch, after its deadlines have fired") {
    play.Tick(kHour / 2 * 3 - 1);
    REQUIRE(play.Inside([&](Engine&) { ++play.time.now_us; }).ok());
  }
  SECTION("while no server runs") { play.Restart(2 * kHour); }
  for (int i = 0; i < 2; ++i) REQUIRE(worker.Tell().ok());
  CHECK(play.Describe(id).trial_counts().running() == 0);
}

// Counts the statements of a connection that read the facts of a job.
struct FactReads {
  explicit FactReads(Store& store) {
    sqlite3* const handle = dynamic_cast<SqliteDatabase&>(store.database()).handle();
    sqlite3_trace_v2(
        handle, SQLITE_TRACE_STMT,
        [](unsigned, void* self, void*, void* sql) {
          const std::string_view text = static_cast<const char*>(sql);
          static_cast<FactReads*>(self)->count += text.find("FROM events") != std::string_view::npos ? 1 : 0;
          return 0;
        },
        this);
  }
  int64_t count = 0;
};

TEST_CASE("Quotas: more waiting jobs than are kept in memory are listed in one pass, each with its reason",
          "[server]") {
  constexpr int kJobs = 130;
  Play play;
  SetQuota(play, {"", "", {.slots = 1000}});
  std::vector<std::string> ids;
  const absl::Status created = play.Inside([&](Engine& engine) {
    for (int i = 0; i < kJobs; ++i)
      ids.push_back(Get(engine.CreateJob(RandomJob(3), "", {}, "", nullptr, "")));
  });
  REQUIRE(created.ok());
  std::promise<absl::Status> registered;
  play.coordinator().Sync(
      FakeWorker(play, "one", 4).Request(),
      [&](const absl::StatusOr<v1::SyncResponse>& answer) { registered.set_value(answer.status()); }, "",
      {"vision"});
  REQUIRE(registered.get_future().get().ok());
  const std::string reason = "Waiting for a worker: none that runs jobs of the default project is present.";
  CHECK(play.Describe(ids.front()).state_reason() == reason);
  const auto rows = Get(Store::OpenReadOnly(play.file()));
  Reads reads(*rows, play.time.clock());
  v1::ListTuningJobsRequest request;
  request.set_page_size(1000);
  const FactReads facts(*rows);
  const v1::ListTuningJobsResponse listed = Get(reads.ListTuningJobs(request));
  REQUIRE(listed.jobs_size() == kJobs);
  for (const v1::TuningJob& job : listed.jobs()) CHECK(job.state_reason() == reason);
  CHECK(facts.count > 0);
  CHECK(facts.count <= 3 * kJobs);
}

TEST_CASE("Quotas: the reason why a job waits takes no reading of other projects' jobs", "[server]") {
  constexpr int kJobs = 20;
  Play play;
  SetQuota(play, {"vision", "", {.slots = 1000}});
  std::string other;
  const absl::Status created = play.Inside([&](Engine& engine) {
    for (int i = 0; i < kJobs; ++i)
      REQUIRE(engine.CreateJob(RandomJob(3), "", {}, "", nullptr, "vision").ok());
    other = Get(engine.CreateJob(RandomJob(3), "", {}, "", nullptr, ""));
  });
  REQUIRE(created.ok());
  const auto rows = Get(Store::OpenReadOnly(play.file()));
  Reads reads(*rows, play.time.clock());
  const FactReads facts(*rows);
  const v1::TuningJob job = Get(reads.DescribeTuningJob(other));
  CHECK_THAT(job.state_reason(), Catch::StartsWith("Waiting for"));
  CHECK(facts.count > 0);
  CHECK(facts.count <= 5);
}

}  // namespace
}  // namespace winnow
