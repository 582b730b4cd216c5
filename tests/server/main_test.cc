// winnow-server as a process: flags, files and signals.

#include <signal.h>

#include <fstream>
#include <string>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

// Runs winnow-server to its end.
Ran Run(const std::string& flags) { return RunCommand(WINNOW_BIN_DIR "/winnow-server " + flags); }

TEST_CASE("Server: flags that make no sense are refused with what was expected", "[server]") {
  TempFolder folder;
  struct Case {
    std::string flags;
    const char* words;
  };
  std::string db = "--db " + folder.file("a.db") + " ";
  std::vector<Case> cases = {
      {"--listen 0.0.0.0:7070", "TLS and tokens are required"},
      {"--listen nonsense", "expected HOST:PORT"},
      {"--http 0.0.0.0:8080", "--http: \"0.0.0.0:8080\" is not this machine's loopback"},
      {"--http nonsense", "--http: \"nonsense\""},
      {"--http unix:/run/s", "expected HOST:PORT"},
      {"--listen 127.0.0.1:99999", "expected HOST:PORT"},
      {"--local-workers -1", "--local-workers"},
      {"--local-workers many", "--local-workers"},
      {"--slots 0", "--slots"},
      {"--lease 0", "--lease"},
      {"--log-level loud", "--log-level"},
      {"--no-such-flag", "--no-such-flag"},
      {"--db :memory: --local-workers 0", "expected a file"},
      {"--db '' --local-workers 0", "--db: \"\" is not a name"},
      {"--lease nan", "--lease: expected a number of seconds"},
      {"--declare-workers slots=0", "--declare-workers: \"slots=0\"; expected slots from 1 to 1024"},
  };
  for (const Case& c : cases) {
    INFO(c.flags);
    Ran ran = Run(db.substr(0, c.flags.find("--db") == 0 ? 0 : db.size()) + c.flags);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, Catch::StartsWith("winnow-server: ") && Catch::Contains(c.words));
  }
  Ran no_folder = Run("--db /no/such/folder/a.db --local-workers 0");
  CHECK(no_folder.exit_code == 1);
  CHECK_THAT(no_folder.output,
             Catch::StartsWith("winnow-server: ") && Catch::Contains("/no/such/folder/a.db"));
  Ran version = Run("--version");
  CHECK(version.exit_code == 0);
  CHECK_THAT(version.output, Catch::StartsWith("winnow-server " WINNOW_VERSION));
}

TEST_CASE("Server: the page's port is told in a file, and taken by one server", "[server]") {
  TempFolder folder;
  const std::string port_file = folder.file("http-port");
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server",
                       {"--local-workers", "0", "--http", "127.0.0.1:0", "--http-port-file", port_file});
  std::string port;
  REQUIRE(std::getline(std::ifstream(port_file), port));
  CHECK_THAT(server.log(), Catch::Contains("the web page is at http://127.0.0.1:" + port));
  Ran second = Run("--local-workers 0 --listen 127.0.0.1:0 --http 127.0.0.1:" + port + " --db " + folder.file("a.db"));
  CHECK(second.exit_code == 1);
  CHECK_THAT(second.output, Catch::Contains("cannot listen on 127.0.0.1:" + port) && Catch::Contains("--http"));
  CHECK(server.Stop() == 0);
}

TEST_CASE("Server: a database and a port have one server each", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  Ran same_file = Run("--local-workers 0 --listen 127.0.0.1:0 --db " + server.database());
  CHECK(same_file.exit_code == 1);
  CHECK_THAT(same_file.output, Catch::Contains("in use by another winnow-server"));
  TempFolder folder;
  Ran same_port = Run("--local-workers 0 --listen " + server.address() + " --db " + folder.file("a.db"));
  CHECK(same_port.exit_code == 1);
  CHECK_THAT(same_port.output, Catch::Contains("cannot listen on " + server.address()));
  CHECK(server.Stop() == 0);
}

}  // namespace
}  // namespace winnow
