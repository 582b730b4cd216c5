// winnow: the command line. Flags are read here and nowhere else; each command is a function of its own file.

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/session.h"
#include "cli/text.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

constexpr char kFooter[] =
    "Every command takes --server HOST:PORT, --timeout SECONDS and --no-color too.\n"
    "JOB is a job's id, or \"latest\" for the newest one.\n"
    "Exit codes: 0 success, 1 an error or a job that failed, 2 wrong usage, 3 (ask, tell) nothing more to "
    "train, 130 Ctrl-C.\n"
    "Environment: WINNOW_SERVER (as --server), NO_COLOR (as --no-color).";

// The word that stands where a command should and is none; "" if there is no such word.
std::string UnknownCommand(const CLI::App& app, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--server" || word == "--timeout" || word == "--output" || word == "-o") {
      ++i;
    } else if (word.empty() || word.front() != '-') {
      const auto commands = app.get_subcommands(nullptr);
      const bool known = std::any_of(commands.begin(), commands.end(),
                                     [&](const CLI::App* command) { return command->get_name() == word; });
      return known ? "" : word;
    }
  }
  return "";
}

int WrongUsage(const CLI::App& app, const std::string& message) {
  const auto used = app.get_subcommands();
  const std::string command = used.empty() ? "winnow" : "winnow " + used.front()->get_name();
  fmt::print(stderr, "winnow: {}\nSee: {} --help\n", message, command);
  return kUsage;
}

int Main(int argc, char** argv) {
  CLI::App app("winnow: tune hyperparameters with a winnow-server", "winnow");
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", "winnow " WINNOW_VERSION);
  Flags flags;
  const CLI::Option* server =
      app.add_option("--server", flags.server, "winnow-server's address (default 127.0.0.1:7070)")
          ->option_text("HOST:PORT");
  app.add_option("--timeout", flags.timeout, "wait so long for each answer (default 10)")
      ->check(Seconds(0.001, 86400))
      ->option_text("SECONDS");
  app.add_flag("--no-color", flags.no_color, "plain text on terminals too");
  std::string output;
  const CLI::Option* early_output =
      app.add_option("-o,--output", output, "of a command, standing before it")->group("");
  Commands commands(app, flags);

  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  if (const std::string word = UnknownCommand(app, argc, argv); !word.empty()) {
    std::vector<std::string> known;
    for (const CommandWords& command : commands.words()) known.push_back(command.name);
    const auto near = Nearest(word, known);
    return WrongUsage(app, fmt::format("there is no command \"{}\"{}", Clean(word),
                                       near.empty() ? "" : fmt::format("; did you mean {}?", OneOf(near))));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return WrongUsage(app, error.what());
  }
  if (early_output->count() > 0) {
    if (const std::string wrong = commands.TakeOutput(output); !wrong.empty()) return WrongUsage(app, wrong);
  }

  Session session{.out = Terminal(STDOUT_FILENO, flags.no_color),
                  .err = Terminal(STDERR_FILENO, flags.no_color),
                  .connected = nullptr};
  const char* environment = std::getenv("WINNOW_SERVER");
  session.server_by_flag = server->count() > 0;
  if (session.server_by_flag) {
    session.server = flags.server;
  } else if (environment != nullptr && *environment != '\0') {
    session.server = environment;
  }
  session.timeout = absl::Seconds(flags.timeout);
  session.output = flags.output == "json"  ? Output::kJson
                   : flags.output == "csv" ? Output::kCsv
                                           : Output::kText;
  if (const absl::Status status = CheckServerAddress(session.server); !status.ok()) {
    const char* where = session.server_by_flag ? "--server" : "WINNOW_SERVER";
    return WrongUsage(app, fmt::format("{}: {}", where, std::string(status.message())));
  }

  const Exit result = commands.chosen()(session);
  if (!result.ok()) {
    session.err.Print(fmt::format("{} {}\n", session.err.Paint(Style::kBad, "winnow:"),
                                  std::string(result.status().message())));
    return IsUsageError(result.status()) ? kUsage : kFailure;
  }
  if (const int error = session.out.write_error(); error != 0) {
    session.err.Print(fmt::format("winnow: cannot write to standard output: {}\n", std::strerror(error)));
    return kFailure;
  }
  return *result;
}

}  // namespace
}  // namespace winnow::cli

int main(int argc, char** argv) { return winnow::cli::Main(argc, argv); }
