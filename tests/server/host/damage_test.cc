// winnow-server as a process on damaged, read-only or missing files, and the findings of --check.

#include "tests/support/damage.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "artifact/digest.h"
#include "checkout.h"
#include "store/store.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Runs winnow-server to its end.
Ran RunServer(const std::string& flags) { return RunCommand(WINNOW_BIN_DIR "/winnow-server " + flags); }

v1::CreateTuningJobRequest SomeJob() {
  v1::CreateTuningJobRequest request;
  v1::TuningJobSpec& spec = *request.mutable_spec();
  spec.set_name("job");
  spec.mutable_trainer()->add_command("true");
  auto* parameter = spec.add_parameters();
  parameter->set_name("x");
  parameter->mutable_continuous()->set_max(1);
  spec.mutable_trainer()->add_metrics()->set_name("loss");
  spec.mutable_trainer()->mutable_metrics(0)->set_regex("loss=([0-9.]+)");
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  spec.set_strategy(v1::RANDOM);
  spec.set_working_directory("/");
  spec.mutable_limits()->set_max_trials(2);
  return request;
}

grpc::Status Create(v1::TuningService::Stub& client) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::TuningJob job;
  return client.CreateTuningJob(&context, SomeJob(), &job);
}

TEST_CASE("Server: --check beside a running server, and after it", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  auto client = server.Client();
  REQUIRE(Create(*client).ok());
  const std::string check = "--check --db " + server.database();
  const Ran beside = RunServer(check);
  CHECK(beside.exit_code == 0);
  CHECK_THAT(beside.output,
             Catch::StartsWith(server.database() + " is sound: version ") && Catch::Contains("1 jobs"));
  server.Kill();
  CHECK(RunServer(check).exit_code == 0);
  server.Restart();
  CHECK(Create(*server.Client()).ok());  // nothing of its log was taken away
}

TEST_CASE("Server: damage that is met while it runs stops it with a message, and nothing is acknowledged",
          "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  REQUIRE(Create(*server.Client()).ok());
  REQUIRE(server.Stop() == 0);
  DamagePage(server.database(), RootPage(server.database(), "taken_ids"));
  const Ran check = RunServer("--check --db " + server.database());
  CHECK(check.exit_code == 1);
  CHECK_THAT(check.output, Catch::Contains("SQLite: ") && Catch::Contains("is not sound"));
  server.Restart();
  CHECK_FALSE(Create(*server.Client()).ok());
  CHECK(server.Wait() == 1);
  CHECK_THAT(server.log(), Catch::Contains("stopping, because nothing more can be recorded") &&
                               Catch::Contains("the file is damaged"));
}

TEST_CASE("Server: a damaged file is refused before it listens", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  REQUIRE(Create(*server.Client()).ok());
  REQUIRE(server.Stop() == 0);
  DamagePage(server.database(), RootPage(server.database(), "events"));
  const Ran ran = RunServer("--local-workers 0 --listen 127.0.0.1:0 --db " + server.database());
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains(server.database()) && Catch::Contains("restore it from a backup"));
  CHECK_THAT(ran.output, !Catch::Contains("listens on"));
}

// A job that clients train, with a report of one trial for each of `levels`: each acknowledged.
void ReportLevels(v1::TuningService::Stub& client, int levels) {
  v1::CreateTuningJobRequest create = SomeJob();
  create.mutable_spec()->mutable_trainer()->Clear();
  create.mutable_spec()->mutable_trainer()->set_external(true);
  const auto call = [&client](auto method, const auto& request, auto& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    const grpc::Status status = (client.*method)(&context, request, &response);
    INFO(status.error_message());
    REQUIRE(status.ok());
  };
  v1::TuningJob job;
  call(&v1::TuningService::Stub::CreateTuningJob, create, job);
  v1::SuggestTrialsRequest ask;
  ask.set_job_id(job.id());
  v1::SuggestTrialsResponse asked;
  call(&v1::TuningService::Stub::SuggestTrials, ask, asked);
  for (int level = 1; level <= levels; ++level) {
    v1::ReportMetricsRequest report;
    report.set_job_id(job.id());
    report.set_trial(1);
    report.set_attempt(1);
    v1::ReportedPoint& point = *report.add_points();
    point.set_metric("loss");
    point.set_resource(level);
    point.set_value(1.0 / level);
    v1::ReportMetricsResponse reported;
    call(&v1::TuningService::Stub::ReportMetrics, report, reported);
  }
}

int64_t Reports(v1::TuningService::Stub& client) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  v1::QueryMetricsRequest query;
  query.set_job_id("job");
  v1::QueryMetricsResponse answer;
  return client.QueryMetrics(&context, query, &answer).ok() ? answer.points_size() : -1;
}

// Where the last frame of a log ends: a server fills the rest with zeros, which mean nothing.
int64_t FramesEnd(const std::string& log) {
  constexpr int64_t kHeader = 32, kFrame = 24 + 4096;
  std::stringstream text;
  text << std::ifstream(log, std::ios::binary).rdbuf();
  const auto used = static_cast<int64_t>(text.str().find_last_not_of('\0')) + 1;
  return kHeader + (used - kHeader + kFrame - 1) / kFrame * kFrame;
}

TEST_CASE("Server: whatever bit of its log is flipped after kill -9, it is refused or every report is there",
          "[server]") {
  constexpr int kReports = 90;
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  ReportLevels(*server.Client(), kReports);
  server.Kill();
  const std::string log = server.database() + "-wal";
  TempFolder kept;
  for (const char* part : {"", "-wal", "-shm"})
    fs::copy_file(server.database() + part, kept.file("db") + part);
  const int64_t bytes = FramesEnd(log);
  int refused = 0;
  for (const int64_t byte : {int64_t{0}, int64_t{9}, int64_t{17}, int64_t{30}, int64_t{34}, int64_t{41},
                             bytes / 7, bytes / 3, bytes / 2, bytes * 4 / 5, bytes - 4100, bytes - 1}) {
    for (const char* part : {"", "-wal", "-shm"}) {
      fs::copy_file(kept.file("db") + part, server.database() + part, fs::copy_options::overwrite_existing);
    }
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(byte);
    const char flipped = static_cast<char>(file.get() ^ 4);
    file.seekp(byte);
    file.put(flipped);
    file.close();
    INFO("byte " << byte << " of " << bytes);
    const Ran check = RunServer("--check --db " + server.database());
    if (check.exit_code == 0) {
      server.Restart();
      CHECK(Reports(*server.Client()) == kReports);
      server.Kill();
      continue;
    }
    ++refused;
    CHECK_THAT(check.output, Catch::Contains("the log is damaged"));
    const Ran start =
        RunServer("--local-workers 0 --http off --listen 127.0.0.1:0 --db " + server.database());
    CHECK(start.exit_code == 1);
    CHECK_THAT(start.output, Catch::Contains("the log is damaged") && Catch::Contains("--accept-log-damage"));
  }
  CHECK(refused >= 10);
  // A user without a backup continues with everything before the damage.
  ServerProcess other(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0", "--accept-log-damage"});
  REQUIRE(other.Stop() == 0);
  for (const char* part : {"", "-wal", "-shm"}) {
    fs::copy_file(kept.file("db") + part, other.database() + part, fs::copy_options::overwrite_existing);
  }
  std::fstream file(other.database() + "-wal", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(bytes * 3 / 4);
  file.write("damage", 6);
  file.close();
  fs::remove_all(other.database() + ".d");
  other.Restart();
  const int64_t left = Reports(*other.Client());
  CHECK(left > 0);
  CHECK(left < kReports);
  CHECK_THAT(other.log(), Catch::Contains("started in spite of this"));
  CHECK(other.Stop() == 0);
}

TEST_CASE("Server: a place that has nothing of what the database lists is refused, and forgets nothing",
          "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  REQUIRE(Create(*server.Client()).ok());
  REQUIRE(server.Stop() == 0);
  const std::string bytes = "a model", digest = DigestOf(bytes);
  const fs::path blobs = server.database() + ".d/artifacts/blobs",
                 blob = blobs / digest.substr(0, 2) / digest;
  fs::create_directories(blob.parent_path());
  std::ofstream(blob) << bytes;
  {
    auto store = Store::Open(server.database());
    REQUIRE(store.ok());
    ArtifactRow row;
    row.job = 1;
    row.trial = 1;
    row.kind = ArtifactKind::kModel;
    REQUIRE((*store)->artifacts.Put(row, {{digest, static_cast<int64_t>(bytes.size())}}).ok());
  }
  const std::string start = "--local-workers 0 --http off --listen 127.0.0.1:0 --db " + server.database();
  const std::string wrong = server.folder() + "/wrong";
  for (int times = 0; times < 2; ++times) {
    const Ran refused = RunServer(start + " --state-dir " + wrong);
    CHECK(refused.exit_code == 1);
    CHECK_THAT(refused.output, Catch::Contains(wrong + "/artifacts has none of their files") &&
                                   Catch::Contains("--accept-missing-artifacts"));
  }
  const auto listed = [&] {
    auto store = Store::Open(server.database());
    REQUIRE(store.ok());
    return (*store)->artifacts.List()->size();
  };
  CHECK(listed() == 1);
  server.Restart();
  CHECK(server.Stop() == 0);
  CHECK(listed() == 1);
  CHECK(fs::exists(blob));
  // Who has lost them goes on without.
  fs::remove_all(blobs);
  CHECK(RunServer(start).exit_code == 1);
  ServerProcess without(WINNOW_BIN_DIR "/winnow-server",
                        {"--local-workers", "0", "--db", server.database(), "--accept-missing-artifacts"});
  CHECK_THAT(without.log(), Catch::Contains("are not in the artifact store"));
  REQUIRE(Create(*without.Client()).ok());
  REQUIRE(without.Stop() == 0);
  CHECK(listed() == 0);
  server.Restart();
  CHECK(server.Stop() == 0);
}

TEST_CASE("Server: the error for a file of another program says what the file is", "[server]") {
  TempFolder folder;
  std::ofstream(folder.file("text.db")) << std::string(9000, 't');
  for (const std::string flags : {"--local-workers 0 --listen 127.0.0.1:0 --db ", "--check --db "}) {
    const Ran text = RunServer(flags + folder.file("text.db"));
    CHECK(text.exit_code == 1);
    CHECK_THAT(text.output, Catch::Contains("not a Winnow database"));
    const Ran folder_itself = RunServer(flags + folder.path().string());
    CHECK(folder_itself.exit_code == 1);
    CHECK_THAT(folder_itself.output,
               Catch::StartsWith("winnow-server: ") && Catch::Contains(folder.path().string()));
  }
  const Ran missing = RunServer("--check --db " + folder.file("no.db"));
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.output, Catch::Contains("no such file; name the database with --db"));
}

}  // namespace
}  // namespace winnow
