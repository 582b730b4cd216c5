// winnow-server as a process on files that are damaged, read-only or not there; and what --check says of
// them.

#include "tests/support/damage.h"

#include <sys/stat.h>

#include <fstream>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

// Runs winnow-server to its end.
Ran Run(const std::string& flags) { return RunCommand(WINNOW_BIN_DIR "/winnow-server " + flags); }

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
  const Ran beside = Run(check);
  CHECK(beside.exit_code == 0);
  CHECK_THAT(beside.output,
             Catch::StartsWith(server.database() + " is sound: version ") && Catch::Contains("1 jobs"));
  server.Kill();
  CHECK(Run(check).exit_code == 0);
  server.Restart();
  CHECK(Create(*server.Client()).ok());  // nothing of its log was taken away
}

TEST_CASE("Server: damage that is met while it runs stops it with a message, and nothing is acknowledged",
          "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  REQUIRE(Create(*server.Client()).ok());
  REQUIRE(server.Stop() == 0);
  DamagePage(server.database(), RootPage(server.database(), "taken_ids"));
  const Ran check = Run("--check --db " + server.database());
  CHECK(check.exit_code == 1);
  CHECK_THAT(check.output, Catch::Contains("SQLite: ") && Catch::Contains("is not sound"));
  server.Restart();
  CHECK_FALSE(Create(*server.Client()).ok());
  CHECK(server.Wait() == 1);
  CHECK_THAT(server.log(), Catch::Contains("stopping, since nothing more can be recorded") &&
                               Catch::Contains("the file is damaged"));
}

TEST_CASE("Server: a damaged file is refused before it listens", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  REQUIRE(Create(*server.Client()).ok());
  REQUIRE(server.Stop() == 0);
  DamagePage(server.database(), RootPage(server.database(), "events"));
  const Ran ran = Run("--local-workers 0 --listen 127.0.0.1:0 --db " + server.database());
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains(server.database()) && Catch::Contains("restore it from a backup"));
  CHECK_THAT(ran.output, !Catch::Contains("listens on"));
}

TEST_CASE("Server: files that are none of ours are told as what they are", "[server]") {
  TempFolder folder;
  std::ofstream(folder.file("text.db")) << std::string(9000, 't');
  for (const std::string flags : {"--local-workers 0 --listen 127.0.0.1:0 --db ", "--check --db "}) {
    const Ran text = Run(flags + folder.file("text.db"));
    CHECK(text.exit_code == 1);
    CHECK_THAT(text.output, Catch::Contains("not a Winnow database"));
    const Ran folder_itself = Run(flags + folder.path().string());
    CHECK(folder_itself.exit_code == 1);
    CHECK_THAT(folder_itself.output,
               Catch::StartsWith("winnow-server: ") && Catch::Contains(folder.path().string()));
  }
  const Ran missing = Run("--check --db " + folder.file("no.db"));
  CHECK(missing.exit_code == 1);
  CHECK_THAT(missing.output, Catch::Contains("there is no such file"));
}

}  // namespace
}  // namespace winnow
