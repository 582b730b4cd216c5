// winnow-server --restore, as a process.

#include <filesystem>
#include <fstream>

#include "checkout.h"
#include "store/copy.h"
#include "store/database/database.h"
#include "tests/catch.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// A server without workers, its backup, and one job that the backup does not have.
struct Copied {
  ServerProcess server{WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"}};
  const std::string backup = server.folder() + "/backup.db";
  const fs::path trial = server.database() + ".d/shared/jobs/early/trials/1";

  Copied() {
    REQUIRE(Create("early").ok());
    REQUIRE(CopyDatabase(server.database(), backup, [] { return false; }).ok());
    REQUIRE(Create("late").ok());
    fs::create_directories(trial / "checkpoint");
    std::ofstream(trial / "checkpoint" / "model") << "of round 9";
  }
  grpc::Status Create(const std::string& name) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::CreateTuningJobRequest request;
    v1::TuningJobSpec& spec = *request.mutable_spec();
    spec.set_name(name);
    spec.mutable_trainer()->set_external(true);
    auto* parameter = spec.add_parameters();
    parameter->set_name("x");
    parameter->mutable_continuous()->set_max(1);
    spec.mutable_objective()->set_metric("loss");
    spec.mutable_objective()->set_goal(v1::MINIMIZE);
    spec.mutable_limits()->set_max_trials(2);
    spec.set_strategy(v1::RANDOM);
    v1::TuningJob job;
    return server.Client()->CreateTuningJob(&context, request, &job);
  }
  bool Knows(const std::string& id) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    v1::DescribeTuningJobRequest request;
    request.set_id(id);
    v1::TuningJob job;
    return server.Client()->DescribeTuningJob(&context, request, &job).ok();
  }
  Ran Restore() const {
    return RunCommand(WINNOW_BIN_DIR "/winnow-server --restore " + backup + " --db " + server.database());
  }
};

TEST_CASE("Server: --restore brings back a backup, keeps the former database, and sets checkpoints aside",
          "[server]") {
  Copied t;
  t.server.Kill();
  const Ran ran = t.Restore();
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  CHECK_THAT(ran.output, Catch::Contains("was restored from " + t.backup) && Catch::Contains("1 jobs") &&
                             Catch::Contains("1 checkpoint was renamed"));
  CHECK_FALSE(fs::exists(t.trial / "checkpoint"));
  CHECK(fs::exists(t.trial / "checkpoint.before-restore" / "model"));
  t.server.Restart();
  CHECK(t.Knows("early"));
  CHECK_FALSE(t.Knows("late"));
  REQUIRE(t.server.Stop() == 0);
  const Ran former =
      RunCommand(WINNOW_BIN_DIR "/winnow-server --check --db " + t.server.database() + ".before-restore");
  CHECK_THAT(former.output, Catch::Contains("is sound") && Catch::Contains("2 jobs"));  // its log came along
  REQUIRE(t.Restore().exit_code == 0);
  CHECK(fs::exists(t.server.database() + ".before-restore-2"));
}

TEST_CASE("Server: --restore changes nothing beside a running server, or with a backup that is not sound",
          "[server]") {
  Copied t;
  Ran ran = t.Restore();
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains("in use by another winnow-server"));
  REQUIRE(t.server.Stop() == 0);
  std::ofstream(t.backup) << "no database";
  ran = t.Restore();
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains(t.backup) && !Catch::Contains(".restore.part"));
  const std::string other = t.server.database() + ".other";
  CHECK(RunCommand(WINNOW_BIN_DIR "/winnow-server --restore " + t.backup + " --db " + other).exit_code == 1);
  CHECK_FALSE(fs::exists(other));
  ran = RunCommand(WINNOW_BIN_DIR "/winnow-server --restore missing.db --db " + t.server.database());
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains("missing.db: is not a file"));
  CHECK(fs::exists(t.trial / "checkpoint"));
  CHECK_FALSE(fs::exists(t.server.database() + ".restore.part"));
  t.server.Restart();
  CHECK(t.Knows("late"));
}

TEST_CASE("Server: --restore names the folder in which the endpoint's former state is, if there is one",
          "[server]") {
  Copied t;
  REQUIRE(t.server.Stop() == 0);
  // As the backup of an endpoint that has keys, but neither jobs nor objects yet.
  {
    const auto backup = Database::Open(t.backup, OpenMode::kReadWrite);
    REQUIRE(backup.ok());
    REQUIRE(
        (*backup)
            ->Execute("CREATE TABLE endpoint_files (id INTEGER PRIMARY KEY, path TEXT NOT NULL, bytes BLOB "
                      "NOT NULL); INSERT INTO endpoint_files VALUES (1, 'keys.json', '{}')")
            .ok());
  }
  const std::string of_endpoint = "objects of S3 again";
  const std::string aside = t.server.database() + ".d/sagemaker.before-restore";
  Ran ran = t.Restore();
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  CHECK_THAT(ran.output, Catch::Contains(of_endpoint + "\n"));
  CHECK_THAT(t.Restore().output, Catch::Contains(of_endpoint + "; what it had is now " + aside + "\n"));
  CHECK_THAT(t.Restore().output, Catch::Contains(of_endpoint + "; what it had is now " + aside + "-2\n"));
  CHECK(fs::exists(aside + "-2"));
  t.server.Restart();
}

TEST_CASE("Server: a copy names the state directory that goes on with it only where it is known",
          "[server]") {
  Copied t;
  REQUIRE(t.server.Stop() == 0);
  const std::string copy = WINNOW_BIN_DIR "/winnow-server --db " + t.server.database() + " --copy-to ";
  Ran ran = RunCommand(copy + t.server.folder() + "/one.db");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.output, Catch::Contains("/one.db --state-dir " + t.server.database() + ".d\n"));
  // Its own name, also another of its names, is no new database.
  fs::create_symlink(t.server.database(), t.server.folder() + "/link.db");
  for (const std::string& name : {t.server.database(), t.server.folder() + "/link.db"}) {
    ran = RunCommand(copy + name);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, Catch::Contains("--copy-to: \"" + name + "\" is the database itself"));
  }
  // As where it was served with --state-dir.
  fs::rename(t.server.database() + ".d", t.server.folder() + "/other");
  ran = RunCommand(copy + t.server.folder() + "/two.db");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.output, Catch::Contains("/two.db and the --state-dir of its server"));
  fs::rename(t.server.folder() + "/other", t.server.database() + ".d");
  t.server.Restart();
}

TEST_CASE("Server: an archive is neither served nor restored, and stays as it is", "[server]") {
  Copied t;
  {
    grpc::ClientContext context;
    v1::StopTuningJobRequest request;
    request.set_id("early");
    v1::TuningJob job;
    REQUIRE(t.server.Client()->StopTuningJob(&context, request, &job).ok());
  }
  const std::string program = WINNOW_BIN_DIR "/winnow-server ", archive = t.server.folder() + "/archive.db";
  Ran ran = RunCommand(program + "--archive early --db " + t.server.database() + " --copy-to " + archive);
  INFO(ran.output);
  REQUIRE(ran.exit_code == 0);
  REQUIRE(t.server.Stop() == 0);
  const auto size = fs::file_size(archive);
  const auto time = fs::last_write_time(archive);
  for (const std::string& flags : {"--listen 127.0.0.1:0 --http off --db " + archive,
                                   "--restore " + archive + " --db " + t.server.database()}) {
    ran = RunCommand("timeout 60 " + program + flags);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, Catch::Contains(archive + " is an archive of jobs"));
  }
  CHECK(fs::file_size(archive) == size);
  CHECK(fs::last_write_time(archive) == time);
  for (const char* end : {".d", "-wal", "-shm"}) CHECK_FALSE(fs::exists(archive + end));
  t.server.Restart();
  CHECK(t.Knows("late"));
}

}  // namespace
}  // namespace winnow
