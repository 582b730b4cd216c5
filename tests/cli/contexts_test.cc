// winnow context, winnow config and --context.

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

using nlohmann::json;

const std::string kContextToken = "wnw_0123abcd_" + std::string(43, 'a');

// Runs winnow with a home directory of the test's own.
Result RunAtHome(const TempFolder& home, const std::vector<std::string>& arguments,
                 const std::string& server = "", std::vector<std::string> environment = {},
                 const std::string& input = "") {
  environment.push_back("XDG_CONFIG_HOME=" + home.path().string());
  Process process(arguments, server, Process::Io::kPipes, environment, input);
  Result result;
  result.code = process.Wait();
  result.out = process.out();
  result.err = process.err();
  return result;
}

std::string FileOf(const TempFolder& home) { return home.file("winnow/contexts.json"); }

// "server" to where it is from, of `winnow config`.
std::map<std::string, std::pair<std::string, std::string>> InForce(const Result& result) {
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (const json& row : json::parse(result.out)) {
    const json& value = row["value"];
    found[row["name"]] = {value.is_string() ? value.get<std::string>() : value.dump(), row["from"]};
  }
  return found;
}

// Answers the first request on a port of the system's choice with {}.
class AnswersOnce {
 public:
  AnswersOnce() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(socket_, any, size) != 0 || listen(socket_, 1) != 0 || getsockname(socket_, any, &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Answer(); });
  }
  ~AnswersOnce() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  void Answer() const {
    const int peer = accept(socket_, nullptr, nullptr);
    if (peer < 0) return;
    std::string got;
    char part[4096];
    for (ssize_t bytes = 1; bytes > 0 && !got.ends_with("{}");) {
      bytes = read(peer, part, sizeof part);
      if (bytes > 0) got.append(part, static_cast<size_t>(bytes));
    }
    const std::string_view answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    [[maybe_unused]] const ssize_t written = write(peer, answer.data(), answer.size());
    close(peer);
  }

  const int socket_;
  int port_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("logout: a proxy does not get the token, which goes to this machine in plain text", "[cli]") {
  TempFolder home;
  const AnswersOnce server;
  REQUIRE(
      RunAtHome(home,
                {"context", "add", "lab", "--server", "127.0.0.1:1", "--http", server.url(), "--token-stdin"},
                "", {}, kContextToken + "\n")
          .code == 0);
  const Result result = RunAtHome(home, {"logout"}, "", {"http_proxy=http://127.0.0.1:1"});
  CHECK(result.err == "");
  CHECK(result.code == 0);
}

TEST_CASE("context: one is added, used, listed, shown and removed", "[cli]") {
  TempFolder home;
  FakeService lab;
  lab.jobs = {SampleJob()};
  const Result added = RunAtHome(home, {"context", "add", "lab", "--server", lab.address()});
  CHECK(added.err == "");
  CHECK(added.code == 0);
  CHECK(added.out == "context lab is kept in " + FileOf(home) + "; commands use it from now on\n");
  CHECK(
      RunAtHome(home, {"context", "add", "cloud", "--server", "127.0.0.1:1", "--http", "127.0.0.1:2"}).code ==
      0);
  CHECK_THAT(RunAtHome(home, {"list"}).out, Catch::Contains("bank"));
  CHECK_THAT(RunAtHome(home, {"list", "--context", "cloud"}).err, Catch::Contains("127.0.0.1:1"));
  CHECK(RunAtHome(home, {"context", "use", "cloud"}).code == 0);
  CHECK_THAT(RunAtHome(home, {"list"}).err, Catch::Contains("127.0.0.1:1"));
  CHECK_THAT(RunAtHome(home, {"list"}, "", {"WINNOW_CONTEXT=lab"}).out, Catch::Contains("bank"));
  const json list = json::parse(RunAtHome(home, {"context", "list", "--output", "json"}).out);
  REQUIRE(list.size() == 2);
  CHECK((list[0]["name"] == "cloud" && list[0]["current"] == true && list[0]["http"] == "127.0.0.1:2"));
  CHECK((list[1]["name"] == "lab" && list[1]["current"] == false));
  CHECK_THAT(RunAtHome(home, {"context", "show"}).out,
             Catch::Contains("cloud") && Catch::Contains("127.0.0.1:1"));
  CHECK(RunAtHome(home, {"context", "remove", "cloud"}).out == "removed cloud; no context is current\n");
  CHECK(RunAtHome(home, {"context", "show"}).code == 1);
}

TEST_CASE("context: its file is the user's alone, and no command prints a token", "[cli]") {
  TempFolder home;
  const Result added = RunAtHome(home, {"context", "add", "lab", "--server", "127.0.0.1:1", "--token-stdin"},
                                 "", {}, kContextToken + "\n");
  INFO(added.err);
  REQUIRE(added.code == 0);
  struct stat about = {};
  REQUIRE(stat(FileOf(home).c_str(), &about) == 0);
  CHECK((about.st_mode & 07777) == 0600);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"context", "list"}, {"context", "show"}, {"context", "show", "--output", "json"}, {"config"}}) {
    const Result result = RunAtHome(home, command);
    CHECK(result.code == 0);
    CHECK_FALSE(result.out.empty());
    CHECK(result.out.find(kContextToken) == std::string::npos);
  }
  REQUIRE(chmod(FileOf(home).c_str(), 0640) == 0);
  const Result refused = RunAtHome(home, {"list"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("others may read it; expected: chmod 600 " + FileOf(home)));
}

TEST_CASE("context: errors are reported before anything is saved", "[cli]") {
  TempFolder home;
  struct Case {
    std::vector<std::string> arguments;
    const char* told;
    int code = 2;
  };
  const std::vector<Case> cases = {
      {{"context", "add", "lab"}, "--server is missing"},
      {{"context", "add", "lab", "--server", "nonsense"}, "--server: \"nonsense\""},
      {{"context", "add", "a b", "--server", "127.0.0.1:1"}, "NAME: \"a b\" is not a context's name"},
      {{"context", "add", "lab", "--server", "127.0.0.1:1", "--token-file", "/nonexistent"},
       "/nonexistent: No such file"},
      {{"context", "add", "lab", "--server", "127.0.0.1:1", "--tls-cert", "a.pem"}, "needs its key"},
      {{"context", "use", "lab"}, "there is no context \"lab\"; create it with", 1},
      {{"context"}, "subcommand"},
      {{"list", "--context", "lab"}, "there is no context \"lab\""},
      {{"list", "--context", "lab", "--server", "127.0.0.1:1"}, "--context"},
  };
  for (const Case& c : cases) {
    const Result result = RunAtHome(home, c.arguments);
    INFO(c.told << "\n" << result.err);
    CHECK(result.code == c.code);
    CHECK(result.err.find(c.told) != std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(FileOf(home)));
}

TEST_CASE("context: a file that is not of its form is named with the field", "[cli]") {
  TempFolder home;
  std::filesystem::create_directory(home.file("winnow"));
  std::ofstream(FileOf(home)) << R"({"current": "lab", "contexts": {"lab": {"sever": "127.0.0.1:1"}}})";
  CHECK_THAT(RunAtHome(home, {"list"}).err,
             Catch::Contains(FileOf(home) + ": contexts.lab: unknown field \"sever\"; did you mean server?"));
  std::ofstream(FileOf(home)) << "{";
  CHECK_THAT(RunAtHome(home, {"list"}).err, Catch::Contains(FileOf(home) + ": is not JSON"));
  std::ofstream(FileOf(home)) << "[1e999]";
  CHECK_THAT(RunAtHome(home, {"list"}).err, Catch::Contains(FileOf(home) + ": has a number above 1.8e308"));
}

TEST_CASE(
    "config: each setting is shown with where it is from: flags, the environment, the context, the default",
    "[cli]") {
  TempFolder home;
  std::ofstream(home.file("ca.pem")) << "x";
  REQUIRE(RunAtHome(home, {"context", "add", "lab", "--server", "tuner.example:7070", "--tls-ca",
                           home.file("ca.pem")})
              .code == 0);
  auto shown = InForce(RunAtHome(home, {"config", "--output", "json"}));
  CHECK(shown["context"] == std::pair<std::string, std::string>("lab", "winnow context use"));
  CHECK(shown["server"] == std::pair<std::string, std::string>("tuner.example:7070", "context lab"));
  CHECK(shown["tls-ca"] == std::pair<std::string, std::string>(home.file("ca.pem"), "context lab"));
  CHECK(shown["token-file"] == std::pair<std::string, std::string>("", "default"));

  // Another server gets nothing of the context's.
  shown = InForce(RunAtHome(home, {"config", "--output", "json"}, "127.0.0.1:1"));
  CHECK(shown["server"] == std::pair<std::string, std::string>("127.0.0.1:1", "WINNOW_SERVER"));
  CHECK(shown["tls-ca"] == std::pair<std::string, std::string>("", "default"));

  // A context of the command line comes before the environment.
  shown = InForce(RunAtHome(home, {"config", "--output", "json", "--context", "lab"}, "127.0.0.1:1",
                            {"WINNOW_TOKEN=" + kContextToken}));
  CHECK(shown["server"] == std::pair<std::string, std::string>("tuner.example:7070", "context lab"));
  CHECK(shown["token"] == std::pair<std::string, std::string>("", "default"));
  shown = InForce(RunAtHome(home, {"config", "--output", "json", "--server", "127.0.0.1:3"}));
  CHECK(shown["server"] == std::pair<std::string, std::string>("127.0.0.1:3", "--server"));
}

TEST_CASE("config: the programs show theirs", "[cli]") {
  TempFolder home;
  std::ofstream(home.file("server.toml")) << "local-workers = 3\n";
  const auto server =
      InForce(RunAtHome(home, {"config", "--output", "json", "server", home.file("server.toml")}));
  CHECK(server.at("db") == std::pair<std::string, std::string>("winnow.db", "default"));
  CHECK_THAT(RunAtHome(home, {"config", "server", home.file("server.toml")}).out,
             Catch::Contains("local-workers") && Catch::Contains(home.file("server.toml") + ":1"));
  CHECK_THAT(RunAtHome(home, {"config", "worker"}).out, Catch::Contains("work-dir"));
  std::ofstream(home.file("worker.toml")) << "local-workers = 3\n";
  const Result refused = RunAtHome(home, {"config", "worker", home.file("worker.toml")});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("worker.toml:1: \"local-workers\" is not a setting"));
}

}  // namespace winnow
