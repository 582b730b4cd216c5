// winnow-server as a process: flags, files and signals.

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "checkout.h"
#include "tests/catch.h"
#include "tests/store/temp_folder.h"
#include "tests/support/run_command.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

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
      {"--config /no/such/file", "--config: /no/such/file: No such file or directory"},
      {"--show-config yaml", "--show-config"},
      {"--db :memory: --local-workers 0", "expected a file"},
      {"--db '' --local-workers 0", "--db: \"\" is not a name"},
      {"--db mysql://host/name --local-workers 0", "--db: mysql:// is no database that is supported"},
      {"--db postgresql://host/name?sslmod=x --local-workers 0", "OPTION one that PostgreSQL documents"},
      {"--lease nan", "--lease: expected a number of seconds"},
      {"--read-dir /no/such/folder", "--read-dir: \"/no/such/folder\" is not a directory"},
      {"--secrets-dir /no/such/folder", "--secrets-dir: \"/no/such/folder\" is not a directory"},
      {"--http-url tuner.example", "--http-url: \"tuner.example\""},
      {"--oidc-client-id w", "--oidc-issuer URL"},
      {"--oidc-issuer https://id.example --oidc-client-id w", "nobody would have a role"},
      {"--oidc-issuer https://id.example --oidc-client-id w --oidc-default-role viewer", "--require-tokens"},
      {"--oidc-issuer https://id.example --oidc-client-id w --oidc-default-role viewer --require-tokens",
       "--http HOST:PORT"},
      {"--declare-workers slots=0", "--declare-workers: \"slots=0\"; expected slots from 1 to 1024"},
  };
  for (const Case& c : cases) {
    INFO(c.flags);
    Ran ran = Run(db.substr(0, c.flags.find("--db") == 0 ? 0 : db.size()) + c.flags);
    CHECK(ran.exit_code == 2);
    CHECK_THAT(ran.output, Catch::StartsWith("winnow-server: ") && Catch::Contains(c.words));
  }
  std::ofstream(folder.file("pools.json")) << R"({"pools": [{"name": "a", "kind": "COMMAND", "worker": {},
      "command": {"submit": ["/bin/true"], "list": ["/bin/true"], "cancel": ["/bin/true"]}}]})";
  Ran no_address = Run(db + "--listen 0.0.0.0:7070 --pools " + folder.file("pools.json"));
  CHECK(no_address.exit_code == 2);
  CHECK_THAT(no_address.output, Catch::Contains("--pools: worker.server of pool a is missing: 0.0.0.0:7070"));
  Ran no_folder = Run("--db /no/such/folder/a.db --local-workers 0");
  CHECK(no_folder.exit_code == 1);
  CHECK_THAT(no_folder.output,
             Catch::StartsWith("winnow-server: ") && Catch::Contains("/no/such/folder/a.db"));
  Ran version = Run("--version");
  CHECK(version.exit_code == 0);
  CHECK_THAT(version.output, Catch::StartsWith("winnow-server " WINNOW_VERSION));
}

TEST_CASE("Server: a file names the page's port, and only one server takes it", "[server]") {
  TempFolder folder;
  const std::string port_file = folder.file("http-port");
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server",
                       {"--local-workers", "0", "--http", "127.0.0.1:0", "--http-port-file", port_file});
  std::string port;
  REQUIRE(std::getline(std::ifstream(port_file), port));
  CHECK_THAT(server.log(), Catch::Contains("the web page is at http://127.0.0.1:" + port));
  Ran second =
      Run("--local-workers 0 --listen 127.0.0.1:0 --http 127.0.0.1:" + port + " --db " + folder.file("a.db"));
  CHECK(second.exit_code == 1);
  CHECK_THAT(second.output,
             Catch::Contains("cannot listen on 127.0.0.1:" + port) && Catch::Contains("--http"));
  CHECK(server.Stop() == 0);
}

TEST_CASE("Server: what it says without a standard error does not get into its database", "[server]") {
  TempFolder folder;
  const std::string db = folder.file("a.db"), port = folder.file("port");
  const Ran ran =
      RunCommand(WINNOW_BIN_DIR "/winnow-server --local-workers 0 --http off --listen 127.0.0.1:0 --db " +
                 db + " --port-file " + port + " 2>&- & until [ -s " + port +
                 " ]; do sleep 0.05; done; head -c 15 " + db + "; kill $!; wait $!");
  CHECK(ran.exit_code == 0);
  CHECK(ran.output == "SQLite format 3");
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

TEST_CASE("Server: a database has one server, by whatever name it is called", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  TempFolder folder;
  fs::create_symlink(server.database(), folder.file("link.db"));
  fs::create_hard_link(server.database(), folder.file("hard.db"));
  const auto start = [](const std::string& file) {
    return Run("--local-workers 0 --http off --listen 127.0.0.1:0 --db " + file);
  };
  for (const char* name : {"link.db", "hard.db"}) {
    const Ran ran = start(folder.file(name));
    INFO(ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, Catch::Contains("in use by another winnow-server"));
    CHECK_FALSE(fs::exists(folder.file(name) + ".d"));
  }
  std::ofstream(folder.file("mount.db")) << "";
  const std::string mount = "mount --bind " + server.database() + " " + folder.file("mount.db");
  if (RunCommand(mount).exit_code == 0) {
    const Ran ran = start(folder.file("mount.db"));
    RunCommand("umount " + folder.file("mount.db"));
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, Catch::Contains("in use by another winnow-server"));
  } else {
    Skip("this user may not mount, so a bind mount of the database is not tried");
  }
  // Beside each name there could be a log of its own.
  CHECK(server.Stop() == 0);
  const Ran two_names = start(server.database());
  CHECK(two_names.exit_code == 1);
  CHECK_THAT(two_names.output, Catch::Contains("has 2 hard links"));
  fs::remove(folder.file("hard.db"));
  server.Restart();
  CHECK(server.Stop() == 0);
}

TEST_CASE("Server: a state folder has one server, and nothing of it is moved for another", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0", "--require-tokens"});
  const std::string state = server.database() + ".d";
  TempFolder folder;
  fs::create_symlink(state, folder.file("state"));
  struct stat before {
  }, after{};
  REQUIRE(stat((state + "/server.sock").c_str(), &before) == 0);
  for (const std::string& name : {state, folder.file("state")}) {
    const Ran ran = Run("--local-workers 0 --http off --require-tokens --listen 127.0.0.1:0 --db " +
                        folder.file("other.db") + " --state-dir " + name);
    INFO(ran.output);
    CHECK(ran.exit_code == 1);
    CHECK_THAT(ran.output, Catch::Contains("state directory of another running winnow-server"));
  }
  REQUIRE(stat((state + "/server.sock").c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  for (const auto& entry : fs::directory_iterator(state)) {
    CHECK_THAT(entry.path().filename().string(), !Catch::StartsWith("before-"));
  }
  CHECK(server.Stop() == 0);
}

TEST_CASE("Server: local workers of a killed server end with the next one, which has none", "[server]") {
  ServerProcess killed(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "1"});
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (killed.WorkerPids().empty() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  REQUIRE(killed.WorkerPids().size() == 1);
  pollfd end = {static_cast<int>(syscall(SYS_pidfd_open, killed.WorkerPids()[0], 0)), POLLIN, 0};
  killed.Kill();
  ServerProcess next(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0", "--db", killed.database()});
  CHECK(poll(&end, 1, 60'000) == 1);
  close(end.fd);
  CHECK(next.Stop() == 0);
}

TEST_CASE("Server: a folder that holds something else is not made a state folder", "[server]") {
  TempFolder folder;
  fs::create_directory(folder.file("home"));
  std::ofstream(folder.file("home/letter")) << "dear";
  const Ran ran = Run("--local-workers 0 --http off --listen 127.0.0.1:0 --db " + folder.file("a.db") +
                      " --state-dir " + folder.file("home"));
  CHECK(ran.exit_code == 1);
  CHECK_THAT(ran.output, Catch::Contains("nor a state directory") && Catch::Contains("--state-dir"));
}

TEST_CASE("Server: its files are its user's alone, those too that were open to others", "[server]") {
  ServerProcess server(WINNOW_BIN_DIR "/winnow-server", {"--local-workers", "0"});
  const auto mode = [](const std::string& file) {
    struct stat stat {};
    return lstat(file.c_str(), &stat) == 0 ? static_cast<int>(stat.st_mode & 0777) : -1;
  };
  const auto check = [&] {
    for (const char* part : {"", "-wal", "-shm"}) CHECK(mode(server.database() + part) == 0600);
    CHECK(mode(server.database() + ".d") == 0700);
  };
  check();
  server.Kill();
  for (const char* part : {"", "-wal", "-shm"}) chmod((server.database() + part).c_str(), 0644);
  chmod((server.database() + ".d").c_str(), 0755);
  server.Restart();
  check();
  CHECK(server.Stop() == 0);
}

}  // namespace
}  // namespace winnow
