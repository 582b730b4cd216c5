#include "flags/help_formatter.h"

#include <memory>
#include <sstream>

#include "flags/wrap.h"
#include "tests/catch.h"

namespace winnow {
namespace {

struct Program {
  explicit Program(size_t width) {
    app.formatter(std::make_shared<HelpFormatter>(width));
    app.footer(
        "Exit codes: 0 success, 1 an error, and a longer explanation that no narrow terminal has room for.");
    app.add_option("--rate-limit", rate, "Calls of each caller, per second; 0: any number")
        ->type_name("CALLS")
        ->check(CLI::Range(0.0, 1e9))
        ->capture_default_str();
    app.add_option("--slots", slots, "Trials at a time (default: as many as processors)")
        ->check(CLI::Range(1, 1024));
    app.add_option("--listen", file, "Where to listen")->type_name("HOST:PORT");
    CLI::Option* first = app.add_flag("--first", one, "one of two");
    app.add_flag("--second", other, "the other")->excludes(first);
    CLI::App* command = app.add_subcommand("start", "Starts the thing");
    command->group("Things");
    command->add_option("FILE", file, "what to start")->required()->option_text(" ");
  }
  double rate = 20000;
  int slots = 0;
  bool one = false, other = false;
  std::string file;
  CLI::App app{"Does things, described at some length so that it takes more than sixty columns.", "thing"};
};

TEST_CASE("Help: ranges and defaults are words, never the flag library's", "[flags]") {
  const std::string help = Program(100).app.help();
  INFO(help);
  CHECK(
      help.find(
          "  --rate-limit CALLS          Calls of each caller, per second; 0: any number (0 to 1e9; default\n"
          "                              20000)\n") != std::string::npos);
  CHECK(help.find("(1 to 1024; default: as many as processors)") != std::string::npos);
  CHECK(help.find("  --listen HOST:PORT          Where to listen\n") != std::string::npos);
  CHECK(help.find("the other; not with --first") != std::string::npos);
  CHECK(help.find("Things:\n  start                       Starts the thing\n") != std::string::npos);
  CHECK(help.find("FLOAT") == std::string::npos);
  CHECK(help.find(" in [") == std::string::npos);
}

TEST_CASE("Help: every line fits the terminal, of commands too", "[flags]") {
  for (const size_t width : {60U, 80U, 100U, 200U}) {
    Program program(width);
    std::istringstream help(program.app.help() + program.app.get_subcommand("start")->help());
    for (std::string line; std::getline(help, line);) {
      INFO(line);
      CHECK(CharacterCount(line) <= width);
    }
  }
}

}  // namespace
}  // namespace winnow
