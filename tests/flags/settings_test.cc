#include "flags/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/store/temp_folder.h"

namespace winnow {
namespace {

// A variable of this process, while it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedVariable() { unsetenv(name_); }

 private:
  const char* const name_;
};

struct Service {
  Service() {
    app.add_option("--db", db, "Database file")->type_name("FILE")->capture_default_str();
    app.add_option("--slots", slots, "Trials at a time (default: number of CPUs)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--label", labels, "Label; may be given again");
    app.add_option("--server", server, "Address (env WINNOW_SERVER; default 127.0.0.1:7070)");
    app.add_flag("--require-tokens", tokens, "Require tokens");
    app.add_flag("--check", check, "Check, and exit");
  }
  // Returns what Fill returns.
  std::string Parse(std::vector<std::string> words) {
    settings = std::make_unique<Settings>(app, "WINNOW_WORKER_",
                                          Settings::Variables{{"--server", {"WINNOW_SERVER"}}});
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return settings->Fill();
  }

  std::string db = "winnow.db";
  int slots = 0;
  std::vector<std::string> labels;
  std::string server;
  bool tokens = false;
  bool check = false;
  CLI::App app{"Serves.", "service"};
  std::unique_ptr<Settings> settings;
};

std::string Write(const TempFolder& folder, const std::string& text) {
  std::ofstream(folder.file("service.toml")) << text;
  return folder.file("service.toml");
}

TEST_CASE(
    "Settings: the command line comes before the environment, that before the file, that before the default",
    "[flags]") {
  TempFolder folder;
  const std::string file = Write(folder,
                                 "# of a test\ndb = \"a # b, c.db\"  # with what a line may have\nslots = 3\n"
                                 "label = [\"x\", \"y=1\"]\nrequire-tokens = true\nserver = \"file:1\"\n");
  const ScopedVariable slots("WINNOW_WORKER_SLOTS", "4");
  const ScopedVariable server("WINNOW_SERVER", "variable:1");
  Service service;
  REQUIRE(service.Parse({"--config", file, "--db", "given.db"}) == "");
  CHECK(service.db == "given.db");
  CHECK(service.slots == 4);
  CHECK(service.labels == std::vector<std::string>{"x", "y=1"});
  CHECK(service.tokens);
  CHECK(service.server.empty());  // the program reads the variable
  Service of_file;
  REQUIRE(of_file.Parse({"--config", file}) == "");
  CHECK(of_file.db == "a # b, c.db");
}

TEST_CASE("Settings: what is in force is shown with where it is from", "[flags]") {
  TempFolder folder;
  const std::string file = Write(folder, "slots = 3\n");
  const ScopedVariable server("WINNOW_SERVER", "variable:1");
  Service service;
  REQUIRE(service.Parse({"--config", file, "--db", "given.db", "--show-config", "json"}) == "");
  CHECK(
      service.settings->Shown() ==
      "[\n"
      R"(  {"name": "db", "value": "given.db", "from": "command line", "variable": "WINNOW_WORKER_DB"},)"
      "\n"
      R"(  {"name": "slots", "value": 3, "from": ")" +
          file +
          R"(:1", "variable": "WINNOW_WORKER_SLOTS"},)"
          "\n"
          R"(  {"name": "label", "value": "", "from": "default", "variable": "WINNOW_WORKER_LABEL"},)"
          "\n"
          R"(  {"name": "server", "value": "variable:1", "from": "WINNOW_SERVER", "variable": "WINNOW_SERVER"},)"
          "\n"
          R"(  {"name": "require-tokens", "value": false, "from": "default", "variable": "WINNOW_WORKER_REQUIRE_TOKENS"})"
          "\n]\n");
  Service text;
  REQUIRE(text.Parse({"--show-config"}) == "");
  CHECK_THAT(text.settings->Shown(), Catch::StartsWith("SETTING         VALUE "));
  CHECK_THAT(text.settings->Shown(), Catch::Contains("slots           number of CPUs  default\n"));
  Service runs;
  REQUIRE(runs.Parse({}) == "");
  CHECK(runs.settings->Shown() == "");
}

TEST_CASE("Settings: the file that --show-config writes is read, and says the same", "[flags]") {
  TempFolder folder;
  Service given;
  REQUIRE(given.Parse({"--db", "it's \"a\\b\".db", "--label", "x", "--label", "y", "--require-tokens",
                       "--show-config", "toml"}) == "");
  const std::string text = given.settings->Shown();
  CHECK_THAT(text, Catch::Contains("\n# Trials at a time (default: number of CPUs)\n#slots = \"\"\n"));
  Service read;
  REQUIRE(read.Parse({"--config", Write(folder, text), "--show-config", "toml"}) == "");
  CHECK(read.db == given.db);
  CHECK(read.labels == given.labels);
  CHECK(read.tokens);
  CHECK(read.settings->Shown() == text);
}

TEST_CASE("Settings: an error names the file's line or the variable, and what was expected", "[flags]") {
  TempFolder folder;
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::string at = "--config: " + folder.file("service.toml");
  const std::vector<Case> cases = {
      {"db = \"a\"\n\nslot = 3\n", at + ":3: \"slot\" is not a setting; did you mean slots?"},
      {"slots = 0\n", at + ":1: --slots 0: expected a number from 1 to "},
      {"slots = \"many\"\n", at + ":1: "},
      {"slots = [1, 2]\n", at + ":1: slots: is an array of 2; expected one value"},
      {"\n[worker]\nslots = 1\n",
       at + ":2: worker: expected a text, a number, true, false or an array of them"},
      {"slots = 1\nslots = 2\n", at + ":2: "},
      {"slots: 1\n", at + ":1: "},
      {"check = true\n", at + ":1: \"check\" is not a setting"},
  };
  for (const Case& c : cases) {
    INFO(c.text);
    Service service;
    CHECK_THAT(service.Parse({"--config", Write(folder, c.text)}), Catch::StartsWith(c.problem));
  }
  Service missing;
  CHECK(missing.Parse({"--config", folder.file("none.toml")}) ==
        "--config: " + folder.file("none.toml") + ": No such file or directory");
  const ScopedVariable slots("WINNOW_WORKER_SLOTS", "many");
  Service variable;
  CHECK_THAT(variable.Parse({}), Catch::StartsWith("WINNOW_WORKER_SLOTS: "));
}

TEST_CASE("Settings: a text of a megabyte in the place of a number is an error, and can be shown",
          "[flags]") {
  const std::string endless(1 << 20, '1');
  {
    const ScopedVariable slots("WINNOW_WORKER_SLOTS", endless);
    Service service;
    const std::string problem = service.Parse({});
    CHECK(problem.starts_with("WINNOW_WORKER_SLOTS: --slots 111"));
    CHECK(problem.ends_with("11: expected a number from 1 to 1024"));
  }
  Service shown;
  REQUIRE(shown.Parse({"--db", endless, "--show-config", "json"}) == "");
  CHECK(shown.settings->Shown().find("\"value\": \"" + endless + "\"") != std::string::npos);
}

TEST_CASE("Settings: a file that everyone may write is refused", "[flags]") {
  TempFolder folder;
  const std::string file = Write(folder, "slots = 1\n");
  REQUIRE(chmod(file.c_str(), 0666) == 0);
  Service service;
  CHECK_THAT(service.Parse({"--config", file}), Catch::Contains("everyone may write " + file));
}

}  // namespace
}  // namespace winnow
