#include "server/host/check.h"

#include <algorithm>
#include <filesystem>

#include "tests/catch.h"
#include "tests/server/engine/play.h"

namespace winnow {
namespace {

// Returns the check's findings for a play's file beside its coordinator.
std::vector<std::string> Findings(Play& play, CheckSummary* summary = nullptr) {
  std::vector<std::string> findings;
  std::filesystem::create_directories(play.folder.file("state"));
  auto checked = CheckDatabase(play.file(), play.folder.file("state"),
                               [&](const std::string& text) { findings.push_back(text); });
  INFO(checked.status().ToString());
  REQUIRE(checked.ok());
  CHECK(checked->findings == static_cast<int64_t>(findings.size()));
  CHECK(checked->sound() == findings.empty());
  if (summary != nullptr) *summary = *checked;
  return findings;
}

void Change(Play& play, const std::string& sql) {
  REQUIRE(play.Inside([&](Engine& engine) {
                Database& database = engine.context().store.database();
                CHECK(database.Execute(sql).ok());
                CHECK(database.changes() >= 1);
              })
              .ok());
}

TEST_CASE("Check: a database is sound at every moment of a job", "[server]") {
  Play play;
  FakeWorker one(play, "one", 2), two(play, "two", 1);
  one.fails_at[2] = 1;
  const std::string id = play.Create(HyperbandJob(9));
  CHECK(Findings(play).empty());
  PlayToEnd(play, id, {&one, &two}, [&](int step) {
    if (step % 7 == 0) CHECK(Findings(play).empty());
  });
  CheckSummary summary;
  CHECK(Findings(play, &summary).empty());
  CHECK(summary.jobs == 1);
  CHECK(summary.trials == static_cast<int64_t>(play.Trials(id).size()));
  CHECK(summary.facts == static_cast<int64_t>(play.Facts(id).size()));
  CHECK_THAT(Text(summary, "w.db"),
             Catch::StartsWith("w.db is sound: version ") && Catch::Contains("1 jobs"));
}

TEST_CASE("Check: jobs that clients train are sound without workers", "[server]") {
  Play play;
  v1::TuningJobSpec spec = RandomJob(3);
  spec.mutable_trainer()->Clear();
  spec.mutable_trainer()->set_external(true);
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(play.Create(spec));
  REQUIRE(play.Ask(ask)->trials_size() == 1);
  CHECK(Findings(play).empty());
}

TEST_CASE("Check: each thing that does not agree is found", "[server]") {
  struct Case {
    const char* sql;
    const char* finding;
  };
  const auto c = GENERATE(
      Case{"DELETE FROM events WHERE sequence = 2", "fact 3 contradicts those before it"},
      Case{"UPDATE events SET detail = '{' WHERE sequence = 2", "cannot be read"},
      Case{"DELETE FROM reports WHERE trial = 1 AND resource = 3", "contradicts those before it"},
      Case{"UPDATE jobs SET last_sequence = last_sequence + 1", "last_sequence is"},
      Case{"UPDATE jobs SET state = 'failed'", "state is \"failed\", its facts say \"running\""},
      Case{"UPDATE jobs SET spec = 'x'", "spec cannot be read"},
      Case{"UPDATE trials SET best_objective = 7 WHERE trial = 1",
           "trial 1: best_objective is 7, its facts say"},
      Case{"UPDATE trials SET value = 7 WHERE trial = 1", "trial 1: value is 7, its facts say"},
      Case{"UPDATE trials SET state = 'failed' WHERE trial = 1", "trial 1: state is \"failed\""},
      Case{"UPDATE trials SET configuration = '[0.5]' WHERE trial = 1", "trial 1: configuration"},
      Case{"DELETE FROM trials WHERE trial = 1", "trial 1 has no row"},
      Case{"INSERT INTO trials SELECT job, 99, state, reason, configuration, objective, resource, "
           "best_objective,"
           " best_resource, bracket, rung, attempts, create_us, start_us, end_us, training_us, "
           "trained_resource, value, value_resource, metrics, violation"
           " FROM trials WHERE trial = 1",
           "rows of trials, its facts say"},
      Case{"INSERT INTO reports VALUES (1, 77, 1, 1, 'other', 0.5, 0, 0, 0)", "reports of trial 77"},
      Case{"UPDATE assignments SET state = 'gone', outcome = 'finished' WHERE trial = 2",
           "a live attempt that no worker holds"},
      Case{"UPDATE assignments SET state = 'odd' WHERE trial = 2", "its state is \"odd\""},
      Case{"UPDATE assignments SET outcome = 'failed' WHERE trial = 2", "its outcome is \"failed\""},
      Case{"UPDATE assignments SET rank = 1 WHERE trial = 2", "the highest of which is 1"},
      Case{"UPDATE assignments SET attempt = 9 WHERE trial = 2", "attempt 9"},
      Case{"UPDATE assignments SET trial = 50 WHERE trial = 2", "there is no trial 50"},
      Case{"UPDATE workers SET state = 'lost'", "is held by worker one, which is lost"},
      Case{"DELETE FROM taken_ids", "not kept as taken"}, Case{"DELETE FROM identity", "0 identities"},
      Case{"INSERT INTO blobs VALUES ('0123', 5, 0)", "not a digest"},
      Case{"INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', 5, "
           "0)",
           "No such file"},
      Case{"PRAGMA foreign_keys = OFF; INSERT INTO logs VALUES (99, 0, 0, 'x', 0, 0)",
           "refers to a missing row of assignments"});
  Play play;
  FakeWorker worker(play, "one", 1);
  play.Create(RandomJob(3));
  for (int step = 0; step < 13; ++step) REQUIRE(worker.Step().ok());  // trial 1 has ended, 2 is training
  REQUIRE(Findings(play).empty());
  if (std::string(c.sql).starts_with("PRAGMA")) {
    auto other = Database::Open(play.file(), OpenMode::kReadWrite);
    REQUIRE((*other)->Execute(c.sql).ok());
  } else {
    Change(play, c.sql);
  }
  const std::vector<std::string> findings = Findings(play);
  INFO(c.sql);
  CAPTURE(findings);
  CHECK(std::any_of(findings.begin(), findings.end(),
                    [&](const std::string& text) { return text.find(c.finding) != std::string::npos; }));
}

TEST_CASE("Check: a copy without a state folder is sound, and it is said what was not looked at",
          "[server]") {
  Play play;
  Change(
      play,
      "INSERT INTO blobs VALUES ('2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824', 5, 0)");
  const auto tell = [](const std::string&) {};
  const CheckSummary summary = *CheckDatabase(play.file(), play.folder.file("none"), tell);
  CHECK(summary.sound());
  CHECK_THAT(Text(summary, "w.db"), Catch::Contains("were not checked"));
}

TEST_CASE("Check: what is no database of this version is refused with what to do", "[server]") {
  TempFolder folder;
  const auto tell = [](const std::string&) {};
  CHECK_THAT(std::string(CheckDatabase(folder.file("no.db"), "", tell).status().message()),
             Catch::Contains("no such file; name the database with --db"));
  {
    auto store = Store::Open(folder.file("old.db"));
    REQUIRE((*store)->database().Execute("PRAGMA user_version = 8").ok());
  }
  CHECK_THAT(std::string(CheckDatabase(folder.file("old.db"), "", tell).status().message()),
             Catch::Contains("open it with winnow-server first"));
}

}  // namespace
}  // namespace winnow
