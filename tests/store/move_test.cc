#include "store/move.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "store/leadership.h"
#include "store/tables/change_requests.h"
#include "store/tables/projects.h"
#include "store/tables/sign_ins.h"
#include "tests/catch.h"
#include "tests/store/example_facts.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

const std::string kDescription("\x0b\0\xff", 3);

// A row in as many tables as the classes of tables make.
void FillStore(Store& store) {
  JobRow row;
  row.spec = R"({"objective":{"metric":"auc"},"parameters":[{"name":"eta"}]})";
  row.state = "running";
  row.owner = "Ada";
  const int64_t job = Get(store.jobs.Insert("tune", row)).key;
  const int64_t gone = Get(store.jobs.Insert("gone", row)).key;
  REQUIRE(store.workers.Put({"w", "w", "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  for (const Fact& fact : OneOfEachKind()) {
    if (!std::holds_alternative<Reported>(fact.body)) REQUIRE(store.facts.AppendEvent(job, fact).ok());
  }
  const double kInfinity = std::numeric_limits<double>::infinity();
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  REQUIRE(*store.facts.AppendReport(job, {1, 1, 1, "auc", 0.1, 1, 1'001}));
  REQUIRE(*store.facts.AppendReport(job, {1, 1, 2, "auc", kNan, 1, 1'002}));
  REQUIRE(*store.facts.AppendReport(job, {1, 1, 2, "loss", kInfinity, 1, 0}));
  REQUIRE(*store.facts.AppendReport(job, {1, 1, 3, "loss", -0.0, 1, 0}));
  REQUIRE(store.trials.Put(job, TrialRow{}).ok());
  AssignmentRow assignment;
  assignment.id = "x";
  assignment.job = job;
  assignment.worker = "w";
  const int64_t key = Get(store.assignments.Insert(assignment));
  REQUIRE(store.logs.Append(key, 0, 0, std::string("a\0\xff", 3), false, 7).ok());
  REQUIRE(store.tokens.Insert({"01234567", "Ada", "admin", std::string("\0\xfe", 2), 1, 0, 0}).ok());
  REQUIRE(store.artifacts.Put({0, job, 1, ArtifactKind::kModel, 1, 9, std::string("\0m", 2), 7}, {{"d", 3}})
              .ok());
  REQUIRE(store.summaries.PutDescription(job, kDescription).ok());
  REQUIRE(store.annotations.Put(job, 0, {{"good"}, "a note", "Ada", 5}).ok());
  REQUIRE(ChangeRequestTable(store.database()).Insert(job, "of a change").ok());
  ProjectTable projects(store.database());
  REQUIRE(projects.Insert({"vision", 3}).ok());
  REQUIRE(projects.PutMember({"vision", "Ada", true}).ok());
  SignInTable sign_ins(store.database());
  REQUIRE(sign_ins.Insert({"https://id.example", "7", "Ada", 4}).ok());
  REQUIRE(sign_ins.PutToken("01234567").ok());
  REQUIRE(store.jobs.Delete(gone).ok());
}

void Move(Database& from, Database& to) {
  const auto rows = MoveRows(from, to);
  INFO(rows.status().ToString());
  REQUIRE(rows.ok());
  CHECK(*rows > 10);
}

TEST_CASE("Move: every row arrives, there and back, and numbers that were used are not used again",
          "[store][stores]") {
  TempFolder files;
  Places places;
  auto first = Get(Store::Open(files.file("first.db")));
  auto there = Get(Store::Open(places.Name("there")));
  auto back = Get(Store::Open(files.file("back.db")));
  FillStore(*first);
  CHECK(Get(first->database().QueryInt(
            "SELECT COUNT(*) FROM job_descriptions WHERE TYPEOF(description) = 'blob'")) == 1);
  // As files of earlier versions have it.
  REQUIRE(
      first->database().Execute("UPDATE job_descriptions SET description = CAST(description AS TEXT)").ok());
  Move(first->database(), there->database());
  Move(there->database(), back->database());
  for (Store* store : {there.get(), back.get()}) {
    CHECK(*store->Identity() == *first->Identity());
    const auto job = Get(store->jobs.Find("tune"));
    REQUIRE(job.has_value());
    const std::vector<Fact> before = Get(first->facts.Load(job->key));
    const std::vector<Fact> facts = Get(store->facts.Load(job->key));
    REQUIRE(facts.size() == before.size());
    for (size_t i = 0; i < facts.size(); ++i) CHECK(facts[i].sequence == before[i].sequence);
    CHECK(Get(store->summaries.Description(job->key)) == kDescription);
    CHECK(Get(store->logs.Read(1, 0, 0, 9)).data == std::string("a\0\xff", 3));
    CHECK(Get(ProjectTable(store->database()).Members()) == std::vector<MemberRow>{{"vision", "Ada", true}});
    CHECK(Get(store->tokens.List()).front().hash == std::string("\0\xfe", 2));
    CHECK(Get(store->jobs.List(100, 9, {{"good"}, {}, "ada"})).size() == 1);
  }
  JobRow row;
  row.spec = "{}";
  row.state = "running";
  const int64_t next = Get(first->jobs.Insert("next", row)).key;
  CHECK(Get(there->jobs.Insert("next", row)).key == next);
  CHECK(Get(back->jobs.Insert("next", row)).key == next);
}

// PostgreSQL keeps the sign of a zero, and a file does not.
TEST_CASE("Move: values that are equal are the same in every database", "[store][stores]") {
  TempFolder files;
  Places places;
  auto from = Get(Store::Open(places.Name("from")));
  auto to = Get(Store::Open(files.file("to.db")));
  FillStore(*from);
  Move(from->database(), to->database());
}

TEST_CASE("Move: a text that not every database can store arrives as it can be stored", "[store][stores]") {
  TempFolder files;
  Places places;
  auto first = Get(Store::Open(files.file("first.db")));
  auto there = Get(Store::Open(places.Name("there")));
  JobRow row;
  row.spec = "{}";
  row.state = "failed";
  row.reason = std::string("exit code 1: a\0b\xff", 17);
  REQUIRE(first->jobs.Insert("tune", row).ok());
  const auto rows = MoveRows(first->database(), there->database());
  INFO(rows.status().ToString());
  REQUIRE(rows.ok());
  CHECK(Get(there->jobs.Find("tune"))->reason ==
        (Places::postgres() ? "exit code 1: a\uFFFDb\uFFFD" : row.reason));
}

// Rows of a job that has ended, with one of each table that a job has rows in, and of `worker`.
void AddEnded(Store& store, const std::string& name, const std::string& worker) {
  JobRow row;
  row.spec = "{}";
  row.state = "completed";
  row.create_us = 100'000'000;
  row.end_us = 200'000'000;
  row.project = "vision";
  const int64_t job = Get(store.jobs.Insert(name, row)).key;
  REQUIRE(store.facts.AppendEvent(job, OneOfEachKind().back()).ok());
  REQUIRE(*store.facts.AppendReport(job, {1, 1, 1, "auc", 0.1, 1, 1'001}));
  REQUIRE(store.trials.Put(job, TrialRow{}).ok());
  REQUIRE(store.workers.Put({worker, worker, "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  AssignmentRow assignment;
  assignment.id = name;
  assignment.job = job;
  assignment.worker = worker;
  const int64_t key = Get(store.assignments.Insert(assignment));
  REQUIRE(store.logs.Append(key, 0, 0, "said", false, 7).ok());
  REQUIRE(store.artifacts.Put({0, job, 1, ArtifactKind::kModel, 1, 9, "m", 7}, {{name, 3}}).ok());
  REQUIRE(store.annotations.Put(job, 0, {{"good"}, "a note", "Ada", 5}).ok());
  REQUIRE(ChangeRequestTable(store.database()).Insert(job, "of a change").ok());
  REQUIRE(store.summaries.AddStep(job, {1, 2, 3, 0.5, 6}).ok());
  REQUIRE(store.summaries.PutDescription(job, "described").ok());
  const int64_t number = Get(store.database().QueryInt("SELECT COUNT(*) FROM usage_workers")) + 1;
  const auto run = [&](const std::string& sql) {
    const absl::Status status = store.database().Execute(sql);
    INFO(sql << ": " << status.ToString());
    REQUIRE(status.ok());
  };
  run(fmt::format(
      "INSERT INTO usage_workers (worker, name, host, slots, seen_s) VALUES ({}, '{}', 'h', 1, 9)", number,
      worker));
  // Steps before, while and after it ran.
  for (const int start : {80, 90, 100, 200, 210})
    run(fmt::format("INSERT INTO worker_usage VALUES (10, {}, {}, 1, 2, 3)", start, number));
  run(fmt::format("INSERT INTO assignment_usage VALUES ({}, 1, 2, 3)", key));
}

int64_t CountOf(Store& store, const char* table) {
  return Get(store.database().QueryInt(fmt::format("SELECT COUNT(*) FROM {}", table)));
}

TEST_CASE("MoveJobs: all rows of the jobs arrive, changed as asked, and none of anything else",
          "[store][stores]") {
  TempFolder files;
  Places places;
  auto from = Get(Store::Open(places.Name("from")));
  auto to = Get(Store::Open(files.file("to.db")));
  FillStore(*from);
  AddEnded(*from, "first", "one");
  AddEnded(*from, "second", "two");
  AddEnded(*from, "third", "three");
  const auto change = [](std::string_view table, std::string_view column, ColumnValue& value) {
    if (table == "jobs" && column == "spec") value = std::string("changed");
    return absl::OkStatus();
  };
  const auto rows = MoveJobs(from->database(), to->database(), {"first@vision", "first@vision"}, change);
  INFO(rows.status().ToString());
  REQUIRE(rows.ok());
  int64_t there = 0;
  for (const MovedTable& table : MovedTables()) {
    INFO(table.name);
    if (std::string(table.name) == "identity") continue;
    const int64_t expected = table.of_jobs == nullptr ? 0 : std::string(table.name) == "worker_usage" ? 2 : 1;
    CHECK(CountOf(*to, table.name) == expected);
    there += expected;
  }
  CHECK(*rows == there);
  CHECK(*to->Identity() != *from->Identity());
  const auto job = Get(to->jobs.Find("first@vision"));
  REQUIRE(job.has_value());
  CHECK(job->spec == "changed");
  CHECK(Get(from->jobs.Find("first@vision"))->spec == "{}");
  CHECK(
      Get(to->logs.Read(Get(to->database().QueryInt("SELECT assignment FROM assignments")), 0, 0, 9)).data ==
      "said");
  CHECK(Get(to->database().QueryInt("SELECT MIN(start_s) FROM worker_usage")) == 100);
}

TEST_CASE("MoveJobs: jobs that are not there or have not ended are named", "[store][stores]") {
  TempFolder files;
  Places places;
  auto from = Get(Store::Open(places.Name("from")));
  auto to = Get(Store::Open(files.file("to.db")));
  FillStore(*from);
  AddEnded(*from, "first", "one");
  const auto move = [&](const std::string& other) {
    return MoveJobs(from->database(), to->database(), {"first@vision", other}, nullptr).status();
  };
  CHECK(move("gone").code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(move("gone").message()), Catch::Contains("there is no job \"gone\""));
  CHECK(move("tune").code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(move("tune").message()),
             Catch::Contains("job \"tune\" is running; expected a job that has ended"));
  CHECK(CountOf(*to, "jobs") == 0);
}

TEST_CASE("Move: a database that is used is left alone", "[store][stores]") {
  TempFolder files;
  Places places;
  auto first = Get(Store::Open(files.file("first.db")));
  auto there = Get(Store::Open(places.Name("there")));
  FillStore(*first);
  FillStore(*there);
  const absl::Status status = MoveRows(first->database(), there->database()).status();
  CHECK(status.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_THAT(std::string(status.message()), Catch::Contains("is not empty"));
}

TEST_CASE("Move: the list has every table", "[store]") {
  auto store = Get(Store::Open(":memory:"));
  std::set<std::string> there, listed;
  Statement tables(store->database(),
                   "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
  REQUIRE(tables.Bind()
              .ForEach([&] {
                there.insert(tables.Text(0));
                return absl::OkStatus();
              })
              .ok());
  for (const MovedTable& table : MovedTables()) listed.insert(table.name);
  CHECK(there == listed);
}

}  // namespace
}  // namespace winnow
