#include "store/migrations.h"

#include <fstream>
#include <iterator>

#include "base/status_text.h"
#include "checkout.h"
#include "scheduler/simulate.h"
#include "store/database/sqlite_database.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/scheduler/jobs.h"
#include "tests/store/get.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

constexpr int64_t kVersionBeforeDrained = 10;

// A file as 0.1.0 left it, with a job in the middle of its life.
void WriteFirstRelease(const std::string& file) {
  auto database = Database::Open(file, OpenMode::kReadWrite);
  REQUIRE(database.ok());
  std::ifstream schema(WINNOW_SOURCE_DIR "/tests/store/schema_0_1_0.sql");
  REQUIRE((*database)->Execute(std::string(std::istreambuf_iterator<char>(schema), {})).ok());
  absl::Status status = (*database)->Execute(R"sql(
    INSERT INTO jobs (id, request_id, spec, state, reason, create_us, end_us, last_sequence)
      VALUES ('old', 'r1', '{}', 'running', '', 5, 0, 4);
    INSERT INTO taken_ids (id) VALUES ('old');
    INSERT INTO events VALUES (1, 1, 10, 'trial_created', 1,
      '{"configuration":[0.5],"bracket":-1,"rung":0,"to":3}');
    INSERT INTO events VALUES (1, 2, 20, 'attempt_started', 1, '{"attempt":1,"from":0,"to":3}');
    INSERT INTO reports VALUES (1, 1, 1, 1, 'auc', 0.5, 30, 3), (1, 1, 1, 2, 'auc', NULL, 40, 4),
      (1, 1, 1, 1, 'loss', 0.7, 30, 0);
    INSERT INTO workers VALUES ('w', 'w', 'localhost', 2, 's', '1', 0, 'live', 1, 1, '{}', 4, 8, '');
    INSERT INTO assignments (id, job, trial, attempt, rank, worker, port, resource_from, resource_to, state,
      outcome, reason, place_us, start_us, end_us)
      VALUES ('a', 1, 1, 1, 0, 'w', 0, 0, 3, 'wanted', '', '', 20, 0, 0);
    INSERT INTO logs VALUES (1, 1, 0, 'oh', 0);
  )sql");
  INFO(status.ToString());
  REQUIRE(status.ok());
}

TEST_CASE("Migrations: a new file gets the newest version and our mark", "[store]") {
  TempFolder folder;
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  Database& database = (*store)->database();
  CHECK(*database.QueryInt("PRAGMA user_version") == NewestVersion());
  CHECK(*database.QueryInt("PRAGMA application_id") == kApplicationId);
  CHECK(Store::Open(folder.file("a.db")).ok());  // and opens again
}

TEST_CASE("Migrations: a file of 0.1.0 keeps its rows", "[store]") {
  TempFolder folder;
  WriteFirstRelease(folder.file("a.db"));
  const std::string identity = [&] {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    Statement read(**database, "SELECT id FROM identity");
    REQUIRE(*read.Bind().Next());
    return read.Text(0);
  }();
  auto store = Store::Open(folder.file("a.db"));
  REQUIRE(store.ok());
  Store& s = **store;
  CHECK(*s.database().QueryInt("PRAGMA user_version") == NewestVersion());
  CHECK(*s.Identity() == identity);
  CHECK(*(*Store::Open(folder.file("b.db")))->Identity() != identity);
  auto job = s.jobs.Find("old");
  REQUIRE(job.ok());
  REQUIRE(job->has_value());
  CHECK((*job)->request_id == "r1");
  CHECK((*job)->warm_start == "");
  CHECK((*job)->owner == "");
  CHECK((*job)->project == "");
  auto facts = s.facts.Load((*job)->key);
  REQUIRE(facts.ok());
  REQUIRE(facts->size() == 4);
  CHECK(std::get<Reported>((*facts)[2].body).objective == 0.5);
  CHECK(std::get<Reported>((*facts)[2].body).metric == 0);
  auto trials = s.trials.List((*job)->key, {});
  REQUIRE(trials.ok());
  for (const TrialRow& row : *trials) {
    CHECK(row.metrics.empty());
    CHECK(row.violation == 0);
  }
  auto assignment = s.assignments.Find("a");
  REQUIRE(assignment->has_value());
  CHECK(s.logs.Read((*assignment)->key, 1, 0, 9)->data == "oh");
  // The order of facts is looked up, not sorted.
  Statement plan(s.database(),
                 "EXPLAIN QUERY PLAN SELECT value FROM reports WHERE job = 1 AND sequence > 3"
                 " AND sequence > 0 ORDER BY sequence");
  REQUIRE(*plan.Bind().Next());
  CHECK_THAT(plan.Text(3), Catch::Contains("reports_in_order"));
}

// Every table's columns and every index, a line each.
std::vector<std::string> TablesOf(Store& store) {
  std::vector<std::string> lines;
  Statement read(store.database(),
                 "SELECT m.type || ' ' || m.name || ' ' || IFNULL(c.name || ' ' || c.type || ' ' || "
                 "c.\"notnull\" || ' ' ||"
                 " IFNULL(c.dflt_value, '') || ' ' || c.pk, '') FROM sqlite_master m"
                 " LEFT JOIN pragma_table_info(m.name) c ORDER BY m.type, m.name, c.cid");
  REQUIRE(read.Bind()
              .ForEach([&] {
                lines.push_back(read.Text(0));
                return absl::OkStatus();
              })
              .ok());
  return lines;
}

TEST_CASE("Migrations: a new file has the tables that a file of 0.1.0 has in the end", "[store]") {
  TempFolder folder;
  WriteFirstRelease(folder.file("a.db"));
  const auto old = Store::Open(folder.file("a.db")), fresh = Store::Open(folder.file("b.db"));
  REQUIRE(old.ok());
  CHECK(TablesOf(**fresh).size() > 100);
  CHECK(TablesOf(**fresh) == TablesOf(**old));
}

TEST_CASE("Migrations: a file from before the first release is refused", "[store]") {
  TempFolder folder;
  WriteFirstRelease(folder.file("a.db"));
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute("PRAGMA user_version = 7").ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  CHECK(store.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(MessageOf(store.status()),
             Catch::Contains("before the first release") && Catch::Contains("version 7"));
}

// A file as 0.1.0 left it, with the facts and the trials' rows of these jobs; all that was ended early was
// "stopped".
void WriteFirstRelease(const std::string& file, const std::vector<SimulationResult>& jobs) {
  WriteFirstRelease(file);
  auto database = Database::Open(file, OpenMode::kReadWrite);
  REQUIRE((*database)->Execute("DELETE FROM jobs; BEGIN").ok());
  FactTable facts(**database);
  Statement add_job(**database,
                    "INSERT INTO jobs (job, id, spec, state, reason, create_us, end_us, last_sequence)"
                    " VALUES (?1, ?2, '{}', 'completed', '', 1, 2, ?3)");
  Statement add_trial(
      **database,
      "INSERT INTO trials VALUES (?1, ?2, ?3, ?4, '[]', ?5, ?6, ?7, ?8, -1, 0, 1, 1, 1, 1, 1, 1)");
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
                  .Bind(key, row.number, stopped ? "stopped" : row.state, row.reason, row.objective,
                        row.resource, row.best_objective, row.best_resource)
                  .Run()
                  .ok());
    }
  }
  REQUIRE((*database)->Execute("INSERT INTO job_descriptions VALUES (1, 'old'); COMMIT").ok());
}

TEST_CASE("Migrations: what 0.1.0 called stopped is what the facts say: pruned, or cancelled", "[store]") {
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
  WriteFirstRelease(folder.file("a.db"), jobs);
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
    for (const Migration& migration : Migrations()) {
      if (migration.version <= kVersionBeforeDrained) REQUIRE((*database)->Execute(migration.sql).ok());
    }
    const std::string version = std::to_string(kVersionBeforeDrained);
    REQUIRE(
        (*database)->Execute("PRAGMA application_id = 0x57494e4e; PRAGMA user_version = " + version).ok());
    REQUIRE(
        (*database)
            ->Execute(
                "INSERT INTO jobs (id, spec, state, reason, create_us, end_us, last_sequence)"
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
  CHECK((*ranks)[2].part_start == PartStart::kUnknown);
  CHECK((*store)->workers.List(true)->front().state == WorkerState::kLeaving);
}

TEST_CASE("Migrations: jobs of an older file are found by their owner, metrics and parameters", "[store]") {
  TempFolder folder;
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    for (const Migration& migration : Migrations()) {
      if (migration.version <= 14) REQUIRE((*database)->Execute(migration.sql).ok());
    }
    REQUIRE((*database)->Execute("PRAGMA application_id = 0x57494e4e; PRAGMA user_version = 14").ok());
    REQUIRE(
        (*database)
            ->Execute("INSERT INTO jobs (id, spec, state, reason, create_us, end_us, last_sequence, owner)"
                      " VALUES ('one', '{\"objectives\": [{\"metric\": \"Latency\"}, {\"metric\": \"auc\"}],"
                      " \"parameters\": [{\"name\": \"eta\"}, {\"name\": \"depth\"}]}', 'running', '', 1, 0, "
                      "0, 'ana'),"
                      " ('two', '{\"objective\": {\"metric\": \"loss\"}}', 'running', '', 1, 0, 0, ''),"
                      " ('damaged', '{', 'running', '', 1, 0, 0, '')")
            .ok());
  }
  auto store = Store::Open(folder.file("a.db"));
  INFO(store.status().ToString());
  REQUIRE(store.ok());
  const auto found = [&](const std::string& text) {
    std::string ids;
    for (const JobRow& row : Get((*store)->jobs.List(100, 100, {.tags = {}, .states = {}, .search = text})))
      ids += row.id + " ";
    return ids;
  };
  CHECK(found("latency") == "one ");
  CHECK(found("DEPTH") == "one ");
  CHECK(found("ana") == "one ");
  CHECK(found("loss") == "two ");
  CHECK(found("damage") == "damaged ");
}

TEST_CASE("Migrations: the token of an older file's workers is not known, and is kept when it is",
          "[store]") {
  TempFolder folder;
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    for (const Migration& migration : Migrations()) {
      if (migration.version <= 28) REQUIRE((*database)->Execute(migration.sql).ok());
    }
    REQUIRE((*database)->Execute("PRAGMA application_id = 0x57494e4e; PRAGMA user_version = 28").ok());
    REQUIRE(
        (*database)
            ->Execute("INSERT INTO workers (worker, name, host, slots, storage_id, version, rendezvous_port,"
                      " state, register_us, last_sync_us, projects) VALUES ('w', 'w', 'h', 4, 's', 'v', 0,"
                      " 'live', 1, 1, '[\"vision\"]')")
            .ok());
  }
  WorkerRow worker;
  {
    auto store = Store::Open(folder.file("a.db"));
    REQUIRE(store.ok());
    worker = Get((*store)->workers.List(true)).at(0);
    CHECK(worker.token == "");
    CHECK(worker.projects == std::vector<std::string>{"vision"});
    worker.token = "3f2a91c4";
    REQUIRE((*store)->workers.Put(worker).ok());
  }
  CHECK(Get((*Store::Open(folder.file("a.db")))->workers.List(true)).at(0) == worker);
}

TEST_CASE("Assignments and jobs: how parts have started is kept", "[store]") {
  auto store = *Store::Open(":memory:");
  JobRow job;
  job.state = "running";
  job = *store->jobs.Insert("job", job);
  job.forked_parts = 5;
  job.new_process_parts = 2;
  job.continued_parts = 7;
  REQUIRE(store->jobs.Update(job).ok());
  const JobRow kept = **store->jobs.Find("job");
  CHECK(kept.new_process_parts == 2);
  CHECK(kept.forked_parts == 5);
  CHECK(kept.continued_parts == 7);
  REQUIRE(store->workers.Put({"w", "w", "h", 4, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  AssignmentRow row;
  row.id = "a";
  row.job = job.key;
  row.trial = 1;
  row.worker = "w";
  row.key = *store->assignments.Insert(row);
  CHECK((*store->assignments.Find("a"))->part_start == PartStart::kUnknown);
  row.part_start = PartStart::kForked;
  REQUIRE(store->assignments.Update(row).ok());
  CHECK((*store->assignments.Find("a"))->part_start == PartStart::kForked);
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
  WriteFirstRelease(folder.file("a.db"));
  {
    auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
    REQUIRE((*database)->Execute("ALTER TABLE jobs ADD COLUMN owner TEXT").ok());  // in the way of step 10
  }
  CHECK_FALSE(Store::Open(folder.file("a.db")).ok());
  auto database = Database::Open(folder.file("a.db"), OpenMode::kReadWrite);
  CHECK(*(*database)->QueryInt("PRAGMA user_version") == 9);
  CHECK(*(*database)->QueryInt("SELECT COUNT(*) FROM pragma_table_info('trials') WHERE name = 'value'") == 1);
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
  WriteFirstRelease(folder.file("a.db"));
  auto store = Store::OpenReadOnly(folder.file("a.db"));
  CHECK(store.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(Store::OpenReadOnly(folder.file("none.db")).ok());
}

}  // namespace
}  // namespace winnow
