#include "server/host/archive.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>

#include "checkout.h"
#include "server/engine/coordinator.h"
#include "server/host/check.h"
#include "server/host/restore.h"
#include "server/host/shown_copy.h"
#include "server/reads/reads.h"
#include "store/copy.h"
#include "tests/catch.h"
#include "tests/server/engine/play.h"
#include "tests/store/get.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

std::string Bytes(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

v1::TuningJobSpec SecretJob() {
  v1::TuningJobSpec spec = HyperbandJob(9);
  (*spec.mutable_trainer()->mutable_environment())["PASSWORD"] = "open sesame";
  return spec;
}

const auto kNever = [] { return false; };

TEST_CASE("Archive: beside a server, it has the job, but neither its secrets nor its workers", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(SecretJob());
  PlayToEnd(play, id, {&worker});
  const std::string open = play.Create(SecretJob());
  const std::string file = play.folder.file("old.db");

  const absl::Status early = ArchiveJobs(play.file(), {id, open}, file).status();
  CHECK(early.code() == absl::StatusCode::kFailedPrecondition);
  CHECK_FALSE(fs::exists(file));
  const Archived archived = Get(ArchiveJobs(play.file(), {id}, file));
  CHECK(archived.hidden == std::set<std::string>{"PASSWORD"});
  struct stat state {};
  REQUIRE(stat(file.c_str(), &state) == 0);
  CHECK((state.st_mode & 0777) == 0600);
  CHECK_THAT(Bytes(file), !Catch::Contains("open sesame"));
  for (const auto& entry : fs::directory_iterator(play.folder.path()))
    CHECK_THAT(entry.path().filename().string(), !Catch::StartsWith("old.db."));

  std::string findings;
  const CheckSummary summary = Get(CheckDatabase(
      file, play.folder.file("none"), [&](const std::string& text) { findings += text; }, nullptr));
  CHECK(findings == "");
  CHECK(summary.jobs == 1);
  const auto store = Get(Store::OpenReadOnly(file));
  CHECK(Get(store->workers.List(false)).empty());
  CHECK(Get(store->workers.List(true)).size() == 1);
  Reads reads(*store, play.time.clock());
  v1::TuningJob now = Get(reads.DescribeTuningJob(id)), then = play.Describe(id);
  CHECK(now.spec().trainer().environment().at("PASSWORD") == "(hidden)");
  then.mutable_spec()->mutable_trainer()->mutable_environment()->clear();
  now.mutable_spec()->mutable_trainer()->mutable_environment()->clear();
  CHECK(now.DebugString() == then.DebugString());

  const std::string before = Bytes(file);
  const absl::Status again = ArchiveJobs(play.file(), {id}, file).status();
  CHECK_THAT(std::string(again.message()), Catch::Contains("there is such a file already"));
  CHECK(Bytes(file) == before);
}

TEST_CASE("Archive: its name is written to disk, or there is none", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  const std::string file = play.folder.file("old.db");
  absl::Status answer = absl::UnavailableError("the disk is gone");
  int named = 0;
  const auto sync = [&](const fs::path& folder) {
    named += folder == fs::path(file).parent_path() && fs::exists(file) ? 1 : 0;
    return answer;
  };
  CHECK(ArchiveJobs(play.file(), {id}, file, sync).status() == answer);
  CHECK(named == 1);
  CHECK_FALSE(fs::exists(file));
  answer = absl::OkStatus();
  CHECK(ArchiveJobs(play.file(), {id}, file, sync).ok());
  CHECK(named == 2);
  CHECK(fs::exists(file));
}

TEST_CASE("Archive: neither a server nor --restore takes it for a database", "[server]") {
  Play play;
  FakeWorker worker(play, "one", 2);
  const std::string id = play.Create(HyperbandJob(9));
  PlayToEnd(play, id, {&worker});
  const std::string archive = play.folder.file("old.db"), backup = play.folder.file("backup.db"),
                    live = play.folder.file("live.db");
  Get(ArchiveJobs(play.file(), {id}, archive));
  REQUIRE(CopyDatabase(play.file(), backup, kNever).ok());
  for (const std::string& other :
       {play.file(), backup, play.folder.file("none"), play.folder.path().string()})
    CHECK(CheckIsNoArchive(other).ok());
  CHECK_THAT(std::string(CheckIsNoArchive(archive).message()),
             Catch::StartsWith(archive + " is an archive of jobs") && Catch::Contains("--read-only"));

  const auto nothing = [](const std::string&) {};
  const std::string before = Bytes(archive);
  CHECK(absl::IsFailedPrecondition(RestoreDatabase(archive, live, live + ".d", nothing).status()));
  CHECK_FALSE(fs::exists(live));
  CHECK(Get(RestoreDatabase(backup, live, live + ".d", nothing)).summary.jobs == 1);
  CHECK(Bytes(archive) == before);
}

TEST_CASE("ShownCopy: a file of 0.1.0 is shown, and stays as it is", "[server]") {
  TempFolder folder;
  const std::string file = folder.file("a.db");
  {
    auto database = Get(Database::Open(file, OpenMode::kNew));
    REQUIRE(database->Execute(Bytes(WINNOW_SOURCE_DIR "/tests/store/schema_0_1_0.sql")).ok());
  }
  fs::permissions(file, fs::perms::owner_read);
  const std::string before = Bytes(file);
  fs::path copies;
  {
    auto copy = Get(ShownCopy::Make(file, kNever));
    copies = copy->folder();
    CHECK(Get(copy->TakeStore()->jobs.List(100, 9)).empty());
    struct stat state {};
    REQUIRE(stat(copies.c_str(), &state) == 0);
    CHECK((state.st_mode & 0777) == 0700);
  }
  CHECK_FALSE(fs::exists(copies));
  CHECK(Bytes(file) == before);
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("ShownCopy: what is no whole database of Winnow is refused by its name", "[server]") {
  Play play;
  const auto why = [](const std::string& file) {
    return std::string(ShownCopy::Make(file, kNever).status().message());
  };
  CHECK_THAT(why(play.file()), Catch::Contains(play.file() + "-wal is beside it"));
  CHECK_THAT(why(play.folder.file("none")), Catch::Contains("no such file"));
  CHECK_THAT(why(play.folder.path().string()), Catch::Contains("no such file"));
  std::ofstream(play.folder.file("text")) << std::string(2'000, 'x');
  CHECK_THAT(why(play.folder.file("text")),
             Catch::Contains(play.folder.file("text")) && !Catch::Contains("PRAGMA"));
  const std::string foreign = play.folder.file("foreign");
  {
    auto database = Get(Database::Open(foreign, OpenMode::kNew));
    REQUIRE(database->Execute("CREATE TABLE t (x)").ok());
  }
  CHECK_THAT(why(foreign), Catch::StartsWith(foreign + ": ") && Catch::Contains("another program"));
  CHECK(absl::IsCancelled(ShownCopy::Make(foreign, [] { return true; }).status()));
}

TEST_CASE("Coordinator: one that only shows decides nothing, however late it is", "[server]") {
  ManualClock time;
  TempFolder folder;
  const std::string backup = folder.file("backup.db");
  std::string id;
  {
    Play play;
    FakeWorker worker(play, "one", 2);
    v1::TuningJobSpec spec = HyperbandJob(9);
    spec.mutable_limits()->mutable_max_wall_time()->set_seconds(60);
    id = play.Create(spec);
    for (int i = 0; i < 3; ++i) REQUIRE(worker.Step().ok());
    REQUIRE(CopyDatabase(play.file(), backup, kNever).ok());
    time.now_us = play.time.now_us.load();
  }
  auto copy = Get(ShownCopy::Make(backup, kNever));
  auto store = copy->TakeStore();
  const auto rows = Get(Store::OpenReadOnly(store->database().file()));
  const auto facts = [&] { return Get(rows->facts.Load(Get(rows->jobs.Find(id))->key)).size(); };
  const size_t count = facts();
  Hub hub;
  EngineOptions options;
  options.clock = time.clock();
  auto coordinator = Get(Coordinator::StartToShow(std::move(store), hub, std::move(options)));
  for (int i = 0; i < 3; ++i) {
    time.now_us += 100'000'000;  // beyond the lease of its worker, and its wall time
    coordinator->Wake();
    std::promise<std::vector<v1::Worker>> listed;
    coordinator->ListWorkers(false, [&](absl::StatusOr<std::vector<v1::Worker>> workers) {
      listed.set_value(Get(std::move(workers)));
    });
    const std::vector<v1::Worker> workers = listed.get_future().get();
    REQUIRE(workers.size() == 1);
    CHECK(workers[0].state() == v1::Worker::LIVE);
    CHECK(workers[0].assignment_ids_size() > 0);
    CHECK(facts() == count);
  }
}

}  // namespace
}  // namespace winnow
