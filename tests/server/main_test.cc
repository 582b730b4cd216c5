// winnow-server as a process: flags, files and signals.

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include <array>
#include <string>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

struct Ran {
  int exit_code = 0;
  std::string output;
};

// Runs winnow-server to its end; standard output and error together.
Ran Run(const std::string& flags) {
  std::string command = std::string(WINNOW_BIN_DIR "/winnow-server ") + flags + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Ran ran;
  std::array<char, 4096> part;
  for (size_t bytes; (bytes = fread(part.data(), 1, part.size(), pipe)) > 0;)
    ran.output.append(part.data(), bytes);
  int status = pclose(pipe);
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

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
