#include "store/migrations.h"

#include <fstream>

#include "scheduler/simulate.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

constexpr size_t kVersionBeforeDrained = 10;

// A file as the first version of the tables left it, with a job in the middle of its life.
void WriteVersion1(const std::string& file) {
  auto database = Database::Open(file, OpenMode::kReadWrite);
  REQUIRE(database.ok());
  REQUIRE((*database)->Execute(Migrations()[0].sql).ok());
  absl::Status status = (*database)->Execute(R"sql(
    PRAGMA application_id = 0x57494e4e; PRAGMA user_version = 1;
    INSERT INTO jobs (id, request_id, spec, state, reason, create_us, end_us, last_sequence)
      VALUES ('old', 'r1', '{}', 'running', '', 5, 0, 4);
    INSERT INTO taken_ids (id) VALUES ('old');
    INSERT INTO events VALUES (1, 1, 10, 'trial_created', 1,
      '{"configuration":[0.5],"bracket":-1,"rung":0,"to":3}');
    INSERT INTO events VALUES (1, 2, 20, 'attempt_started', 1, '{"attempt":1,"from":0,"to":3}');
    INSERT INTO reports VALUES (1, 1, 1, 1, 'auc', 0.5, 30, 3), (1, 1, 1, 2, 'auc', NULL, 40, 4),
      (1, 1, 1, 1, 'loss', 0.7, 30, 0);
    INSERT INTO workers VALUES ('w', 'w', 'localhost', 2, 's', '1', 0, 'live', 1, 1);
    INSERT INTO assignments (id, job, trial, attempt, rank, worker, port, resource_from, resource_to, state,
      outcome, reason, place_us, start_us, end_us)
      VALUES ('a', 1, 1, 1, 0, 'w', 0, 0, 3, 'wanted', '', '', 20, 0, 0);
  )sql");
  INFO(status.ToString());
  REQUIRE(status.ok());
}

TEST_CASE("Migrations: a new file gets the newest version and our mark", "[store]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  Database& database = (*store)->database();
  CHECK(*database.QueryInt("PRAGMA user_version") == static_cast<int64_t>(Migrations().size()));
  CHECK(*database.QueryInt("PRAGMA application_id") == kApplicationId);
  CHECK(Store::Open(folder.file("a.db")).ok());  // and opens again
}

TEST_CASE("Migrations: a file of version 1 keeps its rows and gains logs", "[store]") {
  TempFolder folder;
  WriteVersion1(folder.file("a.db"));
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  Store& s = **store;
  CHECK(*s.database().QueryInt("PRAGMA user_version") == static_cast<int64_t>(Migrations().size()));
  auto job = s.jobs.Find("old");
  REQUIRE(job.ok());
  REQUIRE(job->has_value());
  CHECK((*job)->request_id == "r1");
  auto facts = s.facts.Load((*job)->key);
  REQUIRE(facts.ok());
  REQUIRE(facts->size() == 4);
  CHECK(std::get<Reported>((*facts)[2].body).objective == 0.5);
  auto assignment = s.assignments.Find("a");
  REQUIRE(assignment->has_value());
  REQUIRE(s.logs.Append((*assignment)->key, 0, 0, "hello", false).ok());
  CHECK(s.logs.Read((*assignment)->key, 0, 0, 100)->data == "hello");
  // The order of facts is looked up, not sorted.
  Statement plan(s.database(),
                 "EXPLAIN QUERY PLAN SELECT value FROM reports WHERE job = 1 AND sequence > 3"
                 " AND sequence > 0 ORDER BY sequence");
  REQUIRE(*plan.Bind().Next());
  CHECK_THAT(plan.Text(3), Catch::Contains("reports_in_order"));
}

TEST_CASE("Migrations: a file of version 2 keeps its logs and gains an identity of its own", "[store]") {
  TempFolder folder;
  WriteVersion1(folder.file("a.db"));
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute(Migrations()[1].sql).ok());
    REQUIRE((*database)->Execute("PRAGMA user_version = 2; INSERT INTO logs VALUES (1, 1, 0, 'oh', 0)").ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  CHECK((*store)->logs.Read(1, 1, 0, 9)->data == "oh");
  std::string identity = *(*store)->Identity();
  CHECK(identity.size() == 16);
  CHECK(*(*Store::OpenReadOnly(folder.file("a.db")))->Identity() == identity);
  CHECK(*(*Store::Open(folder.file("b.db")))->Identity() != identity);
}

TEST_CASE("Migrations: jobs of a file of version 3 were started with nothing", "[store]") {
  TempFolder folder;
  WriteVersion1(folder.file("a.db"));
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    for (int step : {1, 2}) REQUIRE((*database)->Execute(Migrations()[step].sql).ok());
    REQUIRE((*database)->Execute("PRAGMA user_version = 3").ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  CHECK((*(*store)->jobs.Find("old"))->warm_start == "");
  JobRow row;
  row.state = "running";
  row.warm_start = "1 result used: 1 from old.csv.";
  REQUIRE((*store)->jobs.Insert("new", row).ok());
  CHECK((*(*store)->jobs.Find("new"))->warm_start == row.warm_start);
}

// A file of version 8 with the facts and the trials' rows of these jobs; all early ends were "stopped".
void WriteVersion8(const std::string& file, const std::vector<SimulationResult>& jobs) {
  auto database = Database::Open(file, OpenMode::kReadWrite);
  for (int step = 0; step < 8; ++step) REQUIRE((*database)->Execute(Migrations()[step].sql).ok());
  REQUIRE((*database)->Execute("PRAGMA application_id = 0x57494e4e; PRAGMA user_version = 8; BEGIN").ok());
  FactTable facts(**database);
  Statement add_job(**database, "INSERT INTO jobs (job, id, spec, state, reason, create_us, end_us, last_sequence)"
                                " VALUES (?1, ?2, '{}', 'completed', '', 1, 2, ?3)");
  Statement add_trial(**database, "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, '[]', ?5, ?6, ?7, ?8, -1, 0, 1, 1, 1, 1, 1, 1)");
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto key = static_cast<int64_t>(i + 1);
    REQUIRE(add_job.Bind(key, "job-" + std::to_string(key), jobs[i].state.last_sequence()).Run().ok());
    for (const Fact& fact : jobs[i].facts) {
      if (!std::holds_alternative<Reported>(fact.body)) REQUIRE(facts.AppendEvent(key, fact).ok());
    }
    for (const TrialState& trial : jobs[i].state.trials()) {
      const TrialRow row = MakeTrialRow(trial);
      const bool stopped = row.state == "pruned" || row.state == "cancelled";
      REQUIRE(add_trial
                  .Bind(key, row.number, stopped ? "stopped" : row.state, row.reason, row.objective, row.resource,
                        row.best_objective, row.best_resource)
                  .Run()
                  .ok());
    }
  }
  REQUIRE((*database)->Execute("INSERT INTO job_descriptions VALUES (1, 'old'); COMMIT").ok());
}

TEST_CASE("Migrations: what version 8 called stopped is what the facts say: pruned, or cancelled", "[store]") {
  std::vector<SimulationResult> jobs;
  for (uint64_t number = 0; number < 300; ++number) {
    AnyJob job = DrawJob(number, 4);
    job.spec.objective_value = ObjectiveValue::kBest;  // there was no other
    jobs.push_back(Simulate(job.spec, job.simulation));
  }
  for (uint64_t number = 0; number < 8; ++number) {
    AnyJob job = DrawJob(number, 4, Strategy{SamplerKind::kGp, PrunerKind::kFreezeThaw});
    job.spec.objective_value = ObjectiveValue::kBest;
    jobs.push_back(Simulate(job.spec, job.simulation));
  }
  TempFolder folder;
  WriteVersion8(folder.file("a.db"), jobs);
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  int64_t pruned = 0, cancelled = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (const TrialState& trial : jobs[i].state.trials()) {
      CAPTURE(i, trial.number, trial.reason);
      const auto row = (*store)->trials.Find(static_cast<int64_t>(i + 1), trial.number);
      REQUIRE(row.ok());
      const TrialRow expected = MakeTrialRow(trial);
      CHECK((*row)->state == expected.state);
      CHECK((*row)->value == expected.value);
      CHECK((*row)->value_resource == expected.value_resource);
      pruned += expected.state == "pruned";
      cancelled += expected.state == "cancelled";
    }
  }
  CHECK(pruned > 1000);
  CHECK(cancelled > 200);
  CHECK((*store)->summaries.Undescribed()->size() == jobs.size());
}

TEST_CASE("Migrations: a rank that was revoked for a reason is one whose worker is drained", "[store]") {
  TempFolder folder;
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    for (size_t step = 0; step < kVersionBeforeDrained; ++step) {
      REQUIRE((*database)->Execute(Migrations()[step].sql).ok());
    }
    const std::string version = std::to_string(kVersionBeforeDrained);
    REQUIRE((*database)->Execute("PRAGMA application_id = 0x57494e4e; PRAGMA user_version = " + version).ok());
    REQUIRE((*database)
                ->Execute("INSERT INTO jobs (id, spec, state, reason, create_us, end_us, last_sequence)"
                          " VALUES ('job', '{}', 'running', '', 1, 0, 0);"
                          "INSERT INTO workers (worker, name, host, slots, storage_id, version, rendezvous_port, state,"
                          " register_us, last_sync_us) VALUES ('w', 'w', 'h', 4, 's', 'v', 0, 'leaving', 1, 1);"
                          "INSERT INTO assignments (id, job, trial, attempt, rank, worker, port, resource_from,"
                          " resource_to, state, outcome, reason, place_us, start_us, end_us, phase, cause) VALUES"
                          " ('plain', 1, 1, 1, 0, 'w', 0, 0, 9, 'revoked', '', '', 1, 0, 0, 'started', ''),"
                          " ('drained', 1, 1, 1, 1, 'w', 0, 0, 9, 'revoked', '', 'worker w is drained', 1, 0, 0,"
                          " 'prepared', ''),"
                          " ('gone', 1, 1, 1, 2, 'w', 0, 0, 9, 'gone', 'failed', 'exit code 3', 1, 2, 3, 'started',"
                          " 'out_of_memory')")
                .ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  const auto ranks = (*store)->assignments.OfTrial(1, 1);
  REQUIRE(ranks.ok());
  REQUIRE(ranks->size() == 3);
  CHECK((*ranks)[0].state == RankState::kRevoked);
  CHECK((*ranks)[0].outcome == std::nullopt);
  CHECK((*ranks)[1].state == RankState::kDrained);
  CHECK((*ranks)[1].phase == RankPhase::kPrepared);
  CHECK((*ranks)[1].reason == "worker w is drained");
  CHECK((*ranks)[2].state == RankState::kGone);
  CHECK((*ranks)[2].outcome == AttemptOutcome::kFailed);
  CHECK((*ranks)[2].cause == FailureCause::kOutOfMemory);
  CHECK((*store)->workers.List(true)->front().state == WorkerState::kLeaving);
}

TEST_CASE("Assignments: a state that is not known is damage", "[store]") {
  auto store = *Store::Open(":memory:");
  JobRow job;
  job.state = "running";
  REQUIRE(store->jobs.Insert("job", job).ok());
  REQUIRE(store->workers.Put({"w", "w", "h", 4, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  AssignmentRow row;
  row.id = "a";
  row.job = 1;
  row.trial = 1;
  row.worker = "w";
  REQUIRE(store->assignments.Insert(row).ok());
  REQUIRE(store->database().Execute("UPDATE assignments SET state = 'resting'").ok());
  const absl::Status status = store->assignments.Find("a").status();
  CHECK(absl::IsDataLoss(status));
  CHECK(status.message() == "assignments.state is \"resting\", which is not known");
}

TEST_CASE("Migrations: a step that fails leaves the file as it was", "[store]") {
  TempFolder folder;
  WriteVersion1(folder.file("a.db"));
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute("CREATE TABLE logs (in_the_way)").ok());
  }
  CHECK_FALSE(Store::Open(folder.file("a.db")).ok());
  auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
  CHECK(*(*database)->QueryInt("PRAGMA user_version") == 1);
  CHECK(*(*database)->QueryInt("SELECT COUNT(*) FROM sqlite_master WHERE name = 'reports_in_order'") == 0);
}

TEST_CASE("Migrations: a newer file is refused with advice", "[store]") {
  TempFolder folder;
  REQUIRE(Store::Open(folder.file("a.db")).ok());
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute("PRAGMA user_version = 99").ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  CHECK(store.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(store.status().message()),
             Catch::Contains("newer Winnow") && Catch::Contains("99") && Catch::Contains("install"));
}

TEST_CASE("Migrations: another program's file is refused and not touched", "[store]") {
  TempFolder folder;
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute("CREATE TABLE theirs (a)").ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  CHECK(store.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(store.status().message()), Catch::Contains("another program"));
  auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
  CHECK(*(*database)->QueryInt("SELECT COUNT(*) FROM sqlite_master") == 1);
}

TEST_CASE("Migrations: a reader does not upgrade", "[store]") {
  TempFolder folder;
  WriteVersion1(folder.file("a.db"));
  auto store = Store::OpenReadOnly(folder.file("a.db"));
  CHECK(store.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(Store::OpenReadOnly(folder.file("none.db")).ok());
}

}  // namespace
}  // namespace winnow
