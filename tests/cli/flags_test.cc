#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "checkout.h"
#include "cli/output/text.h"
#include "tests/catch.h"
#include "tests/cli/fake_service.h"
#include "tests/cli/process.h"
#include "tests/cli/sample.h"

namespace winnow {
namespace {

// Nothing listens there: wrong usage must be found before the server is asked.
constexpr char kClosedPort[] = "127.0.0.1:1";

struct WrongUsage {
  std::vector<std::string> arguments;
  std::vector<std::string> told;  // parts of the error
};

}  // namespace

TEST_CASE("Flags: wrong usage names flag, value and expectation, with exit code 2", "[cli]") {
  const std::vector<WrongUsage> cases = {
      {{"lits"}, {"no command \"lits\"", "did you mean list?"}},
      {{"archive", "j"}, {"no command \"archive\"; archives are written by winnow-server --archive JOB"}},
      {{"export", "j"}, {"no command \"export\"; winnow analytics JOB --output csv"}},
      {{"ps"}, {"no command \"ps\"; winnow list shows the jobs"}},
      {{"--timeout", "5"}, {"subcommand"}},
      {{"list", "--servr", "x"}, {"no flag --servr; did you mean --server?", "See: winnow list --help"}},
      {{"run", "--metric", "loss", "--max-trials", "8", "--", "true", "--x", "0:1"},
       {"no flag --max-trials"}},
      {{"run", "--metrc", "loss", "--", "true", "--x", "0:1"}, {"no flag --metrc; did you mean --metric?"}},
      {{"run", "--metric", "loss", "true", "--rate", "0:1"},
       {"no flag --rate", "(a program and its flags stand after --)"}},
      {{"list", "extra"}, {"not expected", "extra"}},
      {{"metrics", "j", "4"}, {"not expected: 4; did you mean --trial 4?", "See: winnow metrics --help"}},
      {{"list", "--server", "localhost"}, {"--server", "\"localhost\"", "the port is missing", "HOST:PORT"}},
      {{"list", "--server", "localhost:x"}, {"\"x\" is not a number from 1 to 65535"}},
      {{"list", "--server", "localhost:0"}, {"\"0\" is not a number from 1 to 65535"}},
      {{"list", "--server", "localhost:65536"}, {"\"65536\" is not a number from 1 to 65535"}},
      {{"list", "--server", ":7070"}, {"the host is missing"}},
      {{"list", "--server", "::1:7070"}, {"brackets", "[::1]:7070"}},
      {{"list", "--server", "evil/host:7070"}, {"the host is neither a name nor an address"}},
      {{"list", "--server", "http://localhost:7070"}, {"it begins with a scheme", "expected HOST:PORT"}},
      {{"limit", "j"}, {"no limit is given", "--max-trials"}},
      {{"list", "--server", "unix:here"}, {"must begin with /"}},
      {{"list", "--tls-cert", "c.pem"}, {"--tls-cert", "needs its key"}},
      {{"list", "--token-file", "/nonexistent"}, {"--token-file: /nonexistent: No such file"}},
      {{"token"}, {"subcommand"}},
      {{"token", "creat"}, {"no command \"token creat\"; did you mean create?", "See: winnow token --help"}},
      {{"token", "create"}, {"--role is required", "See: winnow token create --help"}},
      {{"token", "create", "--role", "king"}, {"\"king\" is not viewer, submitter, worker or admin"}},
      {{"token", "create", "--role", "viewer", "--days", "0"}, {"--days", "\"0\""}},
      {{"token", "revoke"}, {"TOKEN is required"}},
      {{"list", "--timeout", "0"}, {"--timeout", "\"0\" is not a number of seconds from 0.001 to 86400"}},
      {{"list", "--timeout", "ten"}, {"\"ten\" is not a number of seconds"}},
      {{"list", "--timeout", "nan"}, {"\"nan\" is not a number of seconds"}},
      {{"list", "--limit", "-5"}, {"--limit", "\"-5\" is not a whole number from 1 to 100000"}},
      {{"list", "--limit", "1.5"}, {"--limit", "\"1.5\""}},
      {{"list", "--output", "xml"}, {"--output", "\"xml\" is not text, json or jsonl"}},
      {{"describe", "j", "--output", "csv"}, {"--output", "\"csv\" is not text or json"}},
      {{"-o", "csv", "list"}, {"--output", "\"csv\" is not text, json or jsonl"}},
      {{"-o", "json", "completion", "bash"}, {"completion", "--output"}},
      {{"analytics", "j", "--output", "xls"}, {"\"xls\" is not text, json, jsonl or csv"}},
      {{"trials"}, {"JOB is required"}},
      {{"trials", "a b"}, {"JOB", "\"a b\" is not a job's id"}},
      {{"trials", ""}, {"JOB", "is not a job's id"}},
      {{"trials", "../etc"}, {"\"../etc\" is not a job's id"}},
      {{"trials", "j", "--state", "done"}, {"--state", "\"done\" is not pending, running, paused"}},
      {{"trials", "j", "--state", "running,don"}, {"\"don\" is not pending"}},
      {{"trials", "j", "--limit", "0"}, {"--limit", "\"0\" is not a whole number of at least 1"}},
      {{"trials", "j", "--limit", "99999999999999999999"}, {"\"99999999999999999999\""}},
      {{"trials", "j", "--sort"}, {"--sort"}},
      {{"describe", "j", "0"}, {"TRIAL", "\"0\" is not a whole number of at least 1"}},
      {{"describe", "j", "two"}, {"TRIAL", "\"two\""}},
      {{"logs", "j"}, {"TRIAL is required"}},
      {{"logs", "j", "1", "--attempt", "0"}, {"--attempt", "\"0\""}},
      {{"logs", "j", "1", "--rank", "64"}, {"--rank", "\"64\" is not a whole number from 0 to 63"}},
      {{"metrics", "j", "--trial", "1,x"}, {"--trial", "\"x\""}},
      {{"watch", "j", "--patience", "-1"}, {"--patience", "\"-1\""}},
      {{"submit", "f", "--max-trials", "2.5"},
       {"--max-trials", "\"2.5\" is not a whole number of at least 1"}},
      {{"submit"}, {"FILE: is missing; expected a job file, or --like JOB"}},
      {{"submit", "f", "--request-id", ""}, {"--request-id", "expected 1 to 128"}},
      {{"submit", "f", "--name", std::string(64, 'n')}, {"--name", "has 64 characters"}},
      {{"completion", "tcsh"}, {"SHELL", "\"tcsh\" is not bash, zsh or fish"}},
      {{"simulate", "f"}, {"--table is required"}},
      {{"simulate", "f", "--table", "t", "--seeds", "0"},
       {"--seeds", "\"0\" is not a whole number from 1 to 1000"}},
      {{"simulate", "f", "--table", "t", "--workers", "many"}, {"--workers", "\"many\""}},
      {{"ask", "j", "--count", "0"}, {"--count", "\"0\""}},
      {{"ask", "j", "--wait", "5m"}, {"--wait", "\"5m\" is not a number of seconds from 0 to 60"}},
      {{"ask", "j", "--wait", "61s"}, {"--wait", "from 0 to 60"}},
      {{"tell", "j", "1"}, {"ATTEMPT is required"}},
      {{"tell", "j", "1", "0"}, {"ATTEMPT", "\"0\""}},
      {{"tell", "j", "1", "1", "--metric", "auc", "--resource", "3"},
       {"--metric", "\"auc\" is not NAME=VALUE"}},
      {{"tell", "j", "1", "1", "--metric", "auc=high", "--resource", "3"},
       {"\"auc=high\" is not NAME=VALUE"}},
      {{"tell", "j", "1", "1", "--metric", "auc=0.5"}, {"--resource is missing"}},
      {{"tell", "j", "1", "1", "--resource", "0"}, {"--resource", "\"0\""}},
      {{"complete", "j", "1", "1", "--reason", "sad"}, {"--reason needs --failed"}},
      {{"delete", "latest"}, {"delete takes a job's id", "winnow list"}},
  };
  for (const WrongUsage& usage : cases) {
    const Result result = RunWinnow(usage.arguments, kClosedPort);
    std::string line;
    for (const std::string& argument : usage.arguments) line += argument + " ";
    INFO(line << "\n" << result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(result.err.rfind("winnow: ", 0) == 0);
    for (const std::string& part : usage.told) CHECK(result.err.find(part) != std::string::npos);
  }
}

TEST_CASE("Flags: wrong usage has its exit code where standard error is closed or full", "[cli]") {
  for (const std::string error : {"2>&-", "2>/dev/full"}) {
    const int status = std::system((WINNOW_BIN_DIR "/winnow lits " + error).c_str());
    INFO(error);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 2);
  }
}

TEST_CASE("Flags: an answer that standard output does not take is a failure", "[cli]") {
  for (const std::string asked :
       {"winnow --version", "winnow trials --help", "winnow-server --version", "winnow-worker --version"}) {
    INFO(asked);
    const int status = std::system((WINNOW_BIN_DIR "/" + asked + " >/dev/full 2>/dev/null").c_str());
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 1);
  }
}

TEST_CASE("Flags: a wrong WINNOW_SERVER is named as such", "[cli]") {
  const Result result = RunWinnow({"list"}, "nowhere");
  CHECK(result.code == 2);
  CHECK(result.err.find("WINNOW_SERVER: \"nowhere\" is not a server's address") != std::string::npos);
}

TEST_CASE("Flags: credentials that cannot be read matter only to what asks a server", "[cli]") {
  const std::vector<std::string> environment = {"WINNOW_TOKEN_FILE=/nonexistent"};
  const auto run = [&](const std::vector<std::string>& words) {
    Process process(words, "127.0.0.1:1", Process::Io::kPipes, environment, SampleFile());
    const int code = process.Wait();
    return std::pair(code, process.err());
  };
  CHECK(run({"plan", "-"}) == std::pair(0, std::string()));
  CHECK(run({"run", "--print", "--metric", "loss", "--", "true", "--rate", "0:2"}).first == 0);
  const std::vector<std::vector<std::string>> asking = {
      {"run", "--metric", "loss", "--", "true", "--rate", "0:2"},
      {"plan", "-", "--like", "earlier"},
      {"list"}};
  for (const std::vector<std::string>& words : asking) {
    const auto [code, said] = run(words);
    INFO(said);
    CHECK(code == 2);
    CHECK(said.find("WINNOW_TOKEN_FILE: /nonexistent: No such file") != std::string::npos);
  }
}

TEST_CASE("Flags: no argument at all shows the commands", "[cli]") {
  const Result result = RunWinnow({}, "");
  CHECK(result.code == 2);
  CHECK(result.err.find("submit") != std::string::npos);
}

TEST_CASE("Flags: help and version succeed", "[cli]") {
  CHECK(RunWinnow({"--version"}, "").out == "winnow " WINNOW_VERSION "\n");
  const Result help = RunWinnow({"trials", "--help"}, "");
  CHECK(help.code == 0);
  CHECK(help.out.find("--sort COLUMN") != std::string::npos);
  CHECK(help.out.find("latest") != std::string::npos);
}

TEST_CASE("Flags: help is grouped, and no line of any command's is longer than the terminal is wide",
          "[cli]") {
  const std::string all = RunWinnow({"--help"}, "").out;
  size_t lines_seen = 0;
  for (const std::string group : {"Jobs", "Results", "Workers", "Ask and tell", "Server and tokens"}) {
    INFO(group);
    CHECK(all.find("\n" + group + ":\n") != std::string::npos);
  }
  for (const std::string command :
       {"", "submit", "run", "trials", "best", "simulate", "compare", "ask", "token", "context"}) {
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    Process process(arguments, "", Process::Io::kNarrowTerminal);
    CHECK(process.Wait() == 0);
    std::istringstream lines(process.out());
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(cli::DisplayWidth(line) <= 61);  // and "\r" on a terminal
      ++lines_seen;
    }
  }
  CHECK(lines_seen > 100);
}

TEST_CASE("Client: the error for a server that cannot be reached says what to do", "[cli]") {
  const Result result = RunWinnow({"list", "--timeout", "3"}, kClosedPort);
  CHECK(result.code == 1);
  CHECK(result.err ==
        "winnow: cannot reach winnow-server at 127.0.0.1:1: Connection refused\n"
        "Start it with: winnow-server --listen 127.0.0.1:1\n"
        "or name another with --server HOST:PORT or WINNOW_SERVER.\n");
}

TEST_CASE("Completion: scripts name every command and parse", "[cli]") {
  for (const std::string shell : {"bash", "zsh"}) {
    const Result result = RunWinnow({"completion", shell}, "");
    CHECK(result.code == 0);
    for (const std::string command :
         {"submit",   "plan",     "list",   "describe", "trials", "best",    "analytics",
          "metrics",  "watch",    "logs",   "stop",     "delete", "workers", "completion",
          "--follow", "simulate", "replay", "ask",      "tell",   "--verify"}) {
      INFO(command);
      CHECK(result.out.find(command) != std::string::npos);
    }
    CHECK(result.out.find('@') == std::string::npos);
    CHECK(result.out.find(
              "describe|trials|best|analytics|source|metrics|watch|logs|pause|resume|limit|continue|enqueue|"
              "priority|range|stop|keep|delete|replay|compare|ask|tell|complete)") != std::string::npos);
    CHECK(result.out.find("submit|plan|simulate|backup|config|import)") != std::string::npos);
  }
}

TEST_CASE("Completion: what trials can be sorted by is asked of the job", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  CHECK(RunWinnow({"__complete", "columns", "bank"}, service.address()).out ==
        "number\nobjective\nresource\ntraining_seconds\nnum_round\neta\nbooster\n");
  CHECK(RunWinnow({"__complete", "columns", "nobody"}, service.address()).out ==
        "number\nobjective\nresource\ntraining_seconds\n");
}

TEST_CASE("Completion: bash offers the columns behind --sort", "[cli]") {
  FakeService service;
  service.jobs = {SampleJob()};
  FILE* const bash = popen(
      ("PATH=" WINNOW_BIN_DIR ":$PATH WINNOW_SERVER=" + service.address() +
       " bash -c 'source <(winnow completion bash); COMP_WORDS=(winnow trials bank --sort n); COMP_CWORD=4; "
       "_winnow; echo \"${COMPREPLY[*]}\"'")
          .c_str(),
      "r");
  REQUIRE(bash != nullptr);
  char line[200] = "";
  CHECK(fgets(line, sizeof line, bash) != nullptr);
  CHECK(pclose(bash) == 0);
  CHECK(std::string(line) == "number num_round\n");
}

TEST_CASE("Completion: words below a command are offered", "[cli]") {
  CHECK(RunWinnow({"completion", "bash"}, "")
            .out.find("  token) COMPREPLY=($(compgen -W \"create list revoke\"") != std::string::npos);
  CHECK(RunWinnow({"completion", "zsh"}, "").out.find("  context) compadd add use list show remove ;;") !=
        std::string::npos);
  CHECK(RunWinnow({"completion", "fish"}, "")
            .out.find("seen_subcommand_from context' -a 'add use list show remove'") != std::string::npos);
}

TEST_CASE("Completion: fish has a rule for every command and flag", "[cli]") {
  const std::string script = RunWinnow({"completion", "fish"}, "").out;
  CHECK(script.find("complete -c winnow -n __fish_use_subcommand -a trials -d 'List a job\\'s trials'\n") !=
        std::string::npos);
  CHECK(script.find("complete -c winnow -n '__fish_seen_subcommand_from trials' -l sort -x -a ") !=
        std::string::npos);
  CHECK(script.find("complete -c winnow -n '__fish_seen_subcommand_from submit' -F\n") != std::string::npos);
}

}  // namespace winnow
