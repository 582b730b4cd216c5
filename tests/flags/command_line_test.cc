#include "flags/command_line.h"

#include "tests/catch.h"

namespace winnow {
namespace {

// Reads the words as the command line of a program with flags, and with commands that have flags too.
CommandLine Read(std::vector<std::string> words) {
  CLI::App app("A program.", "program");
  app.require_subcommand(0, 1);
  std::string text;
  app.add_option("--server", text);
  CLI::App* token = app.add_subcommand("token", "tokens")->fallthrough()->require_subcommand(1);
  CLI::App* create = token->add_subcommand("create", "a new one")->fallthrough();
  create->add_option("--role", text)->required();
  CLI::App* train = app.add_subcommand("train", "trains")->fallthrough();
  train->add_option("--slots", text);
  int number = 0;
  unsigned rounds = 0;
  double share = 0;
  app.add_option("--port", number);
  train->add_option("--rounds", rounds)->option_text("N");
  train->add_option("--share", share)->check(CLI::Range(0.0, 1.0));
  train->add_option("--rate", share);
  app.add_subcommand("list", "lists")->fallthrough();
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  CommandLine line = ReadCommandLine(app, static_cast<int>(argv.size()), argv.data());
  if (line.unknown.has_value()) line.unknown->command = nullptr;  // of the app, which ends here
  return line;
}

TEST_CASE("Command line: the word that is not known is named, with what is near it", "[flags]") {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"list", "--servr", "x"}, "there is no flag --servr; did you mean --server?"},
      {{"train", "--slot", "3"}, "there is no flag --slot; did you mean --slots?"},
      {{"train", "--slot=3"}, "there is no flag --slot; did you mean --slots?"},
      {{"train", "-slots", "3"}, "there is no flag -slots; did you mean --slots?"},
      {{"train", "--quite-another"}, "there is no flag --quite-another"},
      {{"train", "3"}, "not expected: 3"},
      {{"train", "-3"}, "not expected: -3"},
      {{"train", "--slots"}, "--slots needs a value"},
      {{"train", "--port", "1.5"}, "--port 1.5: expected a whole number"},
      {{"--port", "99999999999"}, "--port 99999999999: expected a smaller number"},
      {{"train", "--rounds", "-1"}, "--rounds -1: expected a number of at least 0"},
      {{"train", "--share", "half"}, "--share half: expected a number from 0 to 1"},
      {{"train", "--share", "2"}, "--share 2: expected a number from 0 to 1"},
      {{"train", "--rate", "half"}, "--rate half: expected a number"},
      {{"lits"}, "there is no command \"lits\"; did you mean list?"},
      {{"token", "creat"}, "there is no command \"token creat\"; did you mean create?"},
      {{"token", "quite"}, "there is no command \"token quite\""},
      {{"token", "create", "--rol", "viewer"}, "there is no flag --rol; did you mean --role?"},
      {{"token", "create"}, "--role is required"},
      {{"token", "create", "viewer"}, "--role is required"},
  };
  const std::string endless(1 << 20, 'x');
  CHECK((Read({"train", "--rate", endless}).problem == "--rate " + endless + ": expected a number"));
  CHECK((Read({"train", "--share", endless}).problem ==
         "--share " + endless + ": expected a number from 0 to 1"));
  for (const auto& [words, problem] : cases) {
    INFO(words.front() << " " << words.back());
    const CommandLine line = Read(words);
    CHECK(line.problem == problem);
    CHECK_FALSE(line.exit_code.has_value());
  }
  const CommandLine right = Read({"--server", "x", "token", "create", "--role", "viewer"});
  CHECK(right.problem.empty());
  CHECK_FALSE(right.unknown.has_value());
}

}  // namespace
}  // namespace winnow
