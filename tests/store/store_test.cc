#include "store/store.h"

#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "store/check.h"
#include "store/tables/removal.h"
#include "tests/catch.h"
#include "tests/store/get.h"
#include "tests/store/stores.h"

namespace winnow {
namespace {

JobRow Row(const std::string& request_id = "") {
  JobRow row;
  row.request_id = request_id;
  row.spec = "{}";
  row.state = "running";
  row.create_us = 1;
  return row;
}

TEST_CASE("Jobs: ids come from the name and are never used twice", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  CHECK(store->jobs.Insert("tune", Row())->id == "tune");
  CHECK(store->jobs.Insert("tune", Row())->id == "tune-2");
  CHECK(store->jobs.Insert("tune-3", Row())->id == "tune-3");
  auto fourth = store->jobs.Insert("tune", Row());
  CHECK(fourth->id == "tune-4");
  REQUIRE(store->jobs.Delete(fourth->key).ok());
  CHECK(store->jobs.Insert("tune", Row())->id == "tune-5");
}

TEST_CASE("Jobs: ids of one name follow each other, also behind one that a name has taken",
          "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  CHECK(store->jobs.Insert("tune", Row())->id == "tune");
  for (int n = 2; n <= 40; ++n) CHECK(store->jobs.Insert("tune", Row())->id == "tune-" + std::to_string(n));
  JobRow row = Row();
  row.project = "vision";
  CHECK(store->jobs.Insert("tune", row)->id == "tune@vision");
  CHECK(store->jobs.Insert("tune", row)->id == "tune-2@vision");
  for (const char* name : {"a-4", "a", "a-2"}) CHECK(store->jobs.Insert(name, Row())->id == name);
  CHECK(store->jobs.Insert("a", Row())->id == "a-5");  // a-3 is free, and is left out
}

int statements = 0;

int CountStatement(unsigned, void*, void*, void*) {
  ++statements;
  return 0;
}

int CountStatements(sqlite3* connection, char**, const void*) {
  return sqlite3_trace_v2(connection, SQLITE_TRACE_STMT, CountStatement, nullptr);
}

TEST_CASE("Jobs: the id of one whose name has been used often is found soon", "[store]") {
  const auto trace = reinterpret_cast<void (*)()>(CountStatements);
  REQUIRE(sqlite3_auto_extension(trace) == SQLITE_OK);  // of the connections that are opened from now on
  auto opened = Store::Open(":memory:");
  sqlite3_cancel_auto_extension(trace);
  REQUIRE(opened.ok());
  Store& store = **opened;
  const auto insert = [&](int count) {
    for (int i = 0; i < count; ++i) REQUIRE(store.jobs.Insert("tune", Row()).ok());
    return absl::OkStatus();
  };
  REQUIRE(store.Write([&] { return insert(999); }).ok());
  statements = 0;
  CHECK(store.jobs.Insert("tune", Row())->id == "tune-1000");
  CHECK(statements > 2);
  CHECK(statements < 50);
}

TEST_CASE("Jobs: a spec whose texts no database can be given fails no transaction", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  JobRow row = Row();
  row.spec = R"({"objective": {"metric": "loss"}, "working_directory": "/w\u0000"})";
  REQUIRE(store->Write([&] { return store->jobs.Insert("tune", row).status(); }).ok());
  JobFilter filter;
  filter.search = "tune";
  const auto found = store->jobs.List(100, 2, filter);
  REQUIRE(found.ok());
  REQUIRE(found->size() == 1);
  CHECK(found->at(0).spec == row.spec);
}

TEST_CASE("Jobs: a request id belongs to one job", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  REQUIRE(store->jobs.Insert("a", Row("request")).ok());
  CHECK(store->jobs.Insert("b", Row("request")).status().code() == absl::StatusCode::kAlreadyExists);
  CHECK((*store->jobs.FindRequest("request"))->id == "a");
  CHECK_FALSE(store->jobs.FindRequest("other")->has_value());
  CHECK(store->jobs.Insert("c", Row()).ok());
  CHECK(store->jobs.Insert("d", Row()).ok());  // none is not a request id
}

TEST_CASE("Jobs: the open ones by age, all of them newest first", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  for (const char* name : {"a", "b", "c"}) REQUIRE(store->jobs.Insert(name, Row()).ok());
  auto b = **store->jobs.Find("b");
  b.state = "completed";
  b.end_us = 9;
  REQUIRE(store->jobs.Update(b).ok());
  auto open = store->jobs.Open();
  REQUIRE(open->size() == 2);
  CHECK((*open)[0].id == "a");
  auto page = store->jobs.List(100, 2);
  REQUIRE(page->size() == 2);
  CHECK((*page)[0].id == "c");
  CHECK((*page)[1].state == "completed");
  CHECK(store->jobs.List(page->back().key, 2)->front().id == "a");
}

TEST_CASE("Jobs: a transaction of a job whose state stays writes one page of it", "[store]") {
  TempFolder folder;
  auto store = *Store::Open(folder.file("winnow.db"));
  JobRow row = *store->jobs.Insert("a", Row());
  const auto growth = [&] {
    const auto log = folder.file("winnow.db-wal");
    const auto before = std::filesystem::file_size(log);
    row.last_sequence += 1;
    REQUIRE(store->Write([&] { return store->jobs.Update(row); }).ok());
    CHECK((*store->jobs.Find("a"))->last_sequence == row.last_sequence);
    CHECK((*store->jobs.Find("a"))->state == row.state);
    return std::filesystem::file_size(log) - before;
  };
  const auto page = growth();
  CHECK(page < 5000);  // a page has 4096 bytes, beside its place in the log
  row.state = "completed";
  CHECK(growth() > page);  // the indexes of the state too
  CHECK(growth() == page);
}

TEST_CASE("Jobs: deleting one takes every row of it along", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  int64_t job = store->jobs.Insert("a", Row())->key;
  REQUIRE(store->workers.Put({"w", "w", "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  REQUIRE(store->facts.AppendEvent(job, {1, 1, TrialPaused{1, 1}}).ok());
  REQUIRE(store->facts.AppendReport(job, {1, 1, 1, "auc", 1, 1, 2}).ok());
  REQUIRE(store->trials.Put(job, TrialRow{}).ok());
  AssignmentRow assignment;
  assignment.id = "x";
  assignment.job = job;
  assignment.worker = "w";
  int64_t key = *store->assignments.Insert(assignment);
  REQUIRE(store->logs.Append(key, 0, 0, "text", false, 7).ok());
  REQUIRE(store->jobs.Delete(job).ok());
  for (const char* table : {"jobs", "events", "reports", "trials", "assignments", "logs"}) {
    INFO(table);
    CHECK(*store->database().QueryInt(std::string("SELECT COUNT(*) FROM ") + table) == 0);
  }
}

TEST_CASE("Jobs: a deleted one is found no more, and its rows are removed some at a time",
          "[store][stores]") {
  constexpr int64_t kTrials = 260, kReports = 20, kMostRows = 2'100;
  OneStore one;
  auto& store = one.store;
  JobRow row = Row("request");
  row.end_us = 7;
  const int64_t job = store->jobs.Insert("a", row)->key, other = store->jobs.Insert("b", Row())->key;
  REQUIRE(store->workers.Put({"w", "w", "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  const auto fill = [&](int64_t of, int64_t trials) {
    int64_t sequence = 0;
    for (TrialNumber trial = 1; trial <= trials; ++trial) {
      TrialRow state;
      state.number = trial;
      REQUIRE(store->trials.Put(of, state).ok());
      for (int i = 0; i < 10; ++i)
        REQUIRE(store->facts.AppendEvent(of, {++sequence, 1, TrialPaused{trial, 1}}).ok());
      for (int64_t level = 1; level <= kReports; ++level)
        REQUIRE(store->facts.AppendReport(of, {trial, 1, level, "auc", 1, 1, ++sequence}).ok());
      for (int32_t rank = 0; rank < 2; ++rank) {
        AssignmentRow assignment;
        assignment.id = std::to_string(of) + "-" + std::to_string(trial) + "-" + std::to_string(rank);
        assignment.job = of;
        assignment.trial = trial;
        assignment.attempt = 1;
        assignment.rank = rank;
        assignment.worker = "w";
        assignment.state = RankState::kGone;
        assignment.outcome = AttemptOutcome::kFinished;
        REQUIRE(store->logs.Append(*store->assignments.Insert(assignment), 0, 0, "text", false, 7).ok());
      }
    }
  };
  REQUIRE(store
              ->Write([&] {
                fill(job, kTrials);
                fill(other, 1);
                return absl::OkStatus();
              })
              .ok());
  const auto rows = [&] {
    int64_t sum = 0;
    for (const char* table : {"jobs", "events", "reports", "trials", "assignments", "logs"})
      sum += *store->database().QueryInt(std::string("SELECT COUNT(*) FROM ") + table);
    return sum;
  };
  Removal removal(store->database());
  CHECK_FALSE(*removal.Any());
  const int64_t all = rows(), of_other = 1 + 10 + kReports + 1 + 2 + 2;
  REQUIRE(removal.Mark(job, 9).ok());
  CHECK_FALSE(store->jobs.Find("a")->has_value());
  CHECK_FALSE(store->jobs.FindRequest("request")->has_value());
  CHECK(store->jobs.List(INT64_MAX, 9)->size() == 1);
  CHECK(store->jobs.List(INT64_MAX, 9, {{}, {"running"}, ""})->size() == 1);
  CHECK(store->jobs.EndedBefore(100, 9)->empty());
  CHECK(rows() == all);
  int64_t left = all;
  while (*removal.RemoveSome()) {
    const int64_t now = rows();
    CHECK(left - now <= kMostRows);
    left = now;
    const auto found = [](const std::string& finding) { FAIL_CHECK(finding); };
    REQUIRE(CheckAssignments(store->database(), found).ok());
    REQUIRE(CheckLooseRows(store->database(), found).ok());
  }
  CHECK(left == of_other);
  CHECK_FALSE(*removal.Any());
  CHECK(store->jobs.Insert("a", Row("request"))->id == "a-2");
}

TEST_CASE("Jobs: of a deleted one, no trial takes along all of its attempts and their output",
          "[store][stores]") {
  constexpr int64_t kAttempts = 100, kRanks = 3, kMostRows = 100;
  OneStore one;
  auto& store = one.store;
  JobRow row = Row();
  row.end_us = 7;
  const int64_t job = store->jobs.Insert("a", row)->key;
  REQUIRE(store->workers.Put({"w", "w", "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  TrialRow trial;
  trial.number = 1;
  REQUIRE(store->trials.Put(job, trial).ok());
  const auto fill = [&] {
    for (int64_t number = 0; number < kAttempts * kRanks; ++number) {
      AssignmentRow assignment;
      assignment.id = std::to_string(number);
      assignment.job = job;
      assignment.trial = 1;
      assignment.attempt = number / kRanks + 1;
      assignment.rank = static_cast<int32_t>(number % kRanks);
      assignment.worker = "w";
      assignment.state = RankState::kGone;
      assignment.outcome = AttemptOutcome::kFinished;
      const int64_t key = *store->assignments.Insert(assignment);
      for (int stream = 0; stream < 2; ++stream)
        REQUIRE(store->logs.Append(key, stream, 0, "text", false, 7).ok());
    }
    return absl::OkStatus();
  };
  REQUIRE(store->Write(fill).ok());
  const auto rows = [&] {
    int64_t sum = 0;
    for (const char* table : {"jobs", "trials", "assignments", "logs"})
      sum += *store->database().QueryInt(std::string("SELECT COUNT(*) FROM ") + table);
    return sum;
  };
  Removal removal(store->database());
  REQUIRE(removal.Mark(job, 9).ok());
  int64_t left = rows();
  CHECK(left == 2 + 3 * kAttempts * kRanks);
  while (*removal.RemoveSome()) {
    const int64_t now = rows();
    CHECK(left - now <= kMostRows);
    left = now;
    const auto found = [](const std::string& finding) { FAIL_CHECK(finding); };
    REQUIRE(CheckAssignments(store->database(), found).ok());
  }
  CHECK(left == 0);
}

TEST_CASE("Trials: order, filter and page", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  int64_t job = store->jobs.Insert("a", Row())->key;
  auto put = [&](TrialNumber number, const char* state, std::optional<double> objective, double eta) {
    TrialRow row;
    row.number = number;
    row.state = state;
    row.best_objective = objective;
    row.value = objective;
    if (number == 2) row.metrics = {0.5, std::nullopt, -1.0};
    row.configuration = {int64_t{10 - number}, eta, std::string("x")};
    REQUIRE(store->trials.Put(job, row).ok());
    auto back = store->trials.Find(job, number);
    REQUIRE(back.ok());
    CHECK(**back == row);
  };
  put(1, "pruned", 0.5, 3);
  put(2, "failed", std::nullopt, 1);
  put(3, "completed", 0.9, 2);
  auto numbers = [&](TrialQuery query) {
    std::vector<TrialNumber> list;
    for (const TrialRow& row : Get(store->trials.List(job, query))) list.push_back(row.number);
    return list;
  };
  using V = std::vector<TrialNumber>;
  CHECK(numbers({}) == V{1, 2, 3});
  CHECK(numbers({{}, TrialColumn::kNumber, 0, true}) == V{3, 2, 1});
  CHECK(numbers({{}, TrialColumn::kObjective, 0, true}) == V{3, 1, 2});   // those without a value last
  CHECK(numbers({{}, TrialColumn::kObjective, 0, false}) == V{1, 3, 2});  // either way
  CHECK(numbers({{}, TrialColumn::kHyperparameter, 1, false}) == V{2, 3, 1});
  CHECK(numbers({{}, TrialColumn::kHyperparameter, 0, false}) == V{3, 2, 1});
  CHECK(numbers({{"failed", "pruned"}}) == V{1, 2});
  CHECK(numbers({{}, TrialColumn::kNumber, 0, false, 1, 1}) == V{2});
  CHECK(numbers({{}, TrialColumn::kNumber, 0, false, 0, 2, TrialQuery::Completed::kAnywhere, {}, 1}) ==
        V{2, 3});
  CHECK(*store->trials.Count(job, {{"failed", "pruned"}}) == 2);
  CHECK(*store->trials.Count(job, {}) == 3);
  CHECK_FALSE(store->trials.Find(job, 4)->has_value());
  SearchSpec spec;
  CHECK(*store->trials.Best(job, spec) == 3);
  spec.objectives.resize(2);
  CHECK(*store->trials.Best(job, spec) == 0);  // several objectives have a front
  spec.objectives.clear();
  TrialRow violates = **store->trials.Find(job, 3);
  violates.violation = std::numeric_limits<double>::infinity();
  REQUIRE(store->trials.Put(job, violates).ok());
  CHECK(std::isinf((*store->trials.Find(job, 3))->violation));
  CHECK(*store->trials.Best(job, spec) == 1);
  violates.violation = 0;
  REQUIRE(store->trials.Put(job, violates).ok());
  spec.goal = Goal::kMinimize;
  CHECK(*store->trials.Best(job, spec) == 1);
  // Where the mean counts, that of a trial which has completed comes before any other.
  spec.objective_value = ObjectiveValue::kMean;
  CHECK(*store->trials.Best(job, spec) == 3);
  TrialQuery worst_last{{}, TrialColumn::kObjective};
  worst_last.completed = TrialQuery::Completed::kFirst;
  CHECK(numbers(worst_last) == V{3, 1, 2});
  TrialQuery worst_first{{}, TrialColumn::kObjective, 0, true};
  worst_first.completed = TrialQuery::Completed::kLast;
  CHECK(numbers(worst_first) == V{1, 3, 2});
}

TEST_CASE("Assignments: those of an attempt that is not gone come back together", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  int64_t job = store->jobs.Insert("a", Row())->key;
  REQUIRE(store->workers.Put({"w", "w", "h", 4, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  auto add = [&](TrialNumber trial, int64_t attempt, int32_t rank, RankState state) {
    AssignmentRow row;
    row.id = std::to_string(trial) + std::to_string(attempt) + std::to_string(rank);
    row.job = job;
    row.trial = trial;
    row.attempt = attempt;
    row.rank = rank;
    row.worker = "w";
    row.state = state;
    REQUIRE(store->assignments.Insert(row).ok());
  };
  add(1, 1, 0, RankState::kGone);
  add(1, 1, 1, RankState::kRevoked);
  add(2, 1, 0, RankState::kGone);
  add(2, 2, 0, RankState::kWanted);
  std::vector<std::string> held;
  for (const AssignmentRow& row : Get(store->assignments.Held())) held.push_back(row.id);
  CHECK(held == std::vector<std::string>{"110", "111", "220"});
  std::vector<std::string> newest;
  for (const AssignmentRow& row : Get(store->assignments.NewestOfJob(job))) newest.push_back(row.id);
  CHECK(newest == std::vector<std::string>{"110", "220"});
}

TEST_CASE("GPUs: those of a worker and those of a rank come back", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  int64_t job = store->jobs.Insert("a", Row())->key;
  WorkerRow worker{"w", "w", "h", 4, "s", "v", 0, WorkerState::kLive, 1, 1};
  worker.gpus = {{"0", "A100", ""}, {"GPU-\"b", "", "row remapping failed"}};
  REQUIRE(store->workers.Put(worker).ok());
  CHECK(Get(store->workers.List(true)).front() == worker);
  AssignmentRow row;
  row.id = "1";
  row.job = job;
  row.trial = 1;
  row.attempt = 1;
  row.worker = "w";
  row.gpus = {"0", "GPU-\"b"};
  REQUIRE(store->assignments.Insert(row).ok());
  row.id = "2";
  row.trial = 2;
  row.gpus = {"0"};
  row.gpu_share = 0.25;
  REQUIRE(store->assignments.Insert(row).ok());
  const std::vector<AssignmentRow> held = Get(store->assignments.Held());
  REQUIRE(held.size() == 2);
  CHECK(held[0].gpus == std::vector<std::string>{"0", "GPU-\"b"});
  CHECK(held[0].gpu_share == 0);
  CHECK(held[1].gpus == std::vector<std::string>{"0"});
  CHECK(held[1].gpu_share == 0.25);
}

TEST_CASE("Logs: chunks may come twice, a gap is not skipped, the size is bounded", "[store][stores]") {
  OneStore one;
  auto& store = one.store;
  int64_t job = store->jobs.Insert("a", Row())->key;
  REQUIRE(store->workers.Put({"w", "w", "h", 1, "s", "v", 0, WorkerState::kLive, 1, 1}).ok());
  AssignmentRow row;
  row.id = "x";
  row.job = job;
  row.worker = "w";
  int64_t key = *store->assignments.Insert(row);
  LogTable& logs = store->logs;
  for (int twice = 0; twice < 2; ++twice) REQUIRE(logs.Append(key, 0, 0, "hello ", false, 7).ok());
  REQUIRE(logs.Append(key, 0, 11, "!", false, 8).ok());
  CHECK(logs.Read(key, 0, 0, 100)->data == "hello ");
  REQUIRE(logs.Append(key, 0, 6, "world", false, 9).ok());
  CHECK(logs.Read(key, 0, 0, 100)->data == "hello world!");
  auto part = logs.Read(key, 0, 4, 5);
  CHECK(part->data == "o wor");
  CHECK(part->next_offset == 9);
  CHECK_FALSE(part->truncated);
  CHECK(logs.Read(key, 1, 0, 100)->data.empty());
  const auto times = Get(logs.Times(key, 0, 6));
  REQUIRE(times.size() == 2);
  CHECK((times[0].offset == 6 && times[0].received_us == 9));
  CHECK((times[1].offset == 11 && times[1].received_us == 8));

  REQUIRE(logs.Append(key, 1, 0, std::string(kMaxLogBytes - 1, 'x'), false, 7).ok());
  REQUIRE(logs.Append(key, 1, kMaxLogBytes - 1, "yz", false, 7).ok());
  auto whole = logs.Read(key, 1, 0, 4 * kMaxLogBytes);
  CHECK(whole->data.size() == kMaxLogBytes);
  CHECK(whole->data.back() == 'y');
  CHECK(whole->truncated);
  // A worker says so before it knows how much more there is.
  REQUIRE(logs.Append(key, 0, 12, "more", true, 7).ok());
  REQUIRE(logs.Append(key, 0, 16, "end", false, 7).ok());
  CHECK_FALSE(logs.Read(key, 0, 0, 100)->truncated);
}

TEST_CASE("Store: a body that fails leaves nothing behind", "[store][stores]") {
  Places places;
  const std::string name = places.Name("a.db");
  auto store = *Store::Open(name);
  absl::Status status = store->Write([&]() -> absl::Status {
    REQUIRE(store->jobs.Insert("a", Row()).ok());
    return absl::InternalError("enough");
  });
  CHECK(status.message() == "enough");
  CHECK_FALSE(store->jobs.Find("a")->has_value());
  REQUIRE(store->Write([&] { return store->jobs.Insert("a", Row()).status(); }).ok());
  auto reader = *Store::OpenReadOnly(name);
  CHECK(reader->jobs.Find("a")->has_value());
}

}  // namespace
}  // namespace winnow
