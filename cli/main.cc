// winnow: the command line. Only this file reads flags; each command is a function in its own file.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/standard_streams.h"
#include "base/status_text.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/output/text.h"
#include "cli/session/contexts.h"
#include "cli/session/session.h"
#include "cli/validators.h"
#include "flags/command_line.h"
#include "flags/help_formatter.h"

namespace winnow::cli {
namespace {

constexpr char kFooter[] =
    "Every command also takes the options that winnow --help lists.\n"
    "JOB is a job's id, or \"latest\" for the newest one.\n"
    "Exit codes: 0 success, 1 an error or a job that failed, 2 wrong usage, 3 (ask, tell) nothing more to "
    "train, "
    "130 Ctrl-C.\n"
    "Environment: WINNOW_SERVER, WINNOW_CONTEXT, WINNOW_TLS_CA, WINNOW_TLS_CERT, WINNOW_TLS_KEY and "
    "WINNOW_TOKEN_FILE (as the flags), WINNOW_TOKEN (the token itself), NO_COLOR (as --no-color).\n"
    "The server is that of the flags, else of the environment, else of the current context: see winnow "
    "config.";

// Words that are tried as commands, and what there is instead.
constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
    {"archive", "archives are written by winnow-server --archive JOB --copy-to FILE"},
    {"cancel", "winnow stop JOB stops one"},
    {"create", "winnow submit FILE creates a job"},
    {"export",
     "winnow analytics JOB --output csv prints trials, winnow metrics JOB --output csv their curves"},
    {"jobs", "winnow list shows the jobs"},
    {"kill", "winnow stop JOB stops one"},
    {"ls", "winnow list shows the jobs"},
    {"ps", "winnow list shows the jobs"},
    {"results", "winnow trials JOB shows the trials, winnow best JOB the best one"},
    {"restore", "backups are restored by winnow-server --restore FILE"},
    {"rm", "winnow delete JOB deletes one"},
    {"serve", "the server is a program of its own, winnow-server"},
    {"show", "winnow describe JOB shows one"},
    {"start", "winnow submit FILE starts a job"},
    {"status", "winnow list shows the jobs, winnow describe JOB one of them"},
    {"top", "winnow watch JOB shows a job as it goes, winnow workers the workers"}};

// Returns the context of --context, of WINNOW_CONTEXT, or the current one; one without a name if there is
// none.
absl::StatusOr<EndpointContext> ChosenContext(const std::string& flag) {
  const absl::StatusOr<Contexts> contexts = Contexts::Load(Contexts::DefaultPath());
  if (!contexts.ok()) return contexts.status();
  const char* variable = std::getenv("WINNOW_CONTEXT");
  absl::StatusOr<EndpointContext> found = contexts->Find(!flag.empty()         ? flag
                                                         : variable == nullptr ? ""
                                                                               : variable);
  if (found.ok()) found->chosen = !flag.empty();
  return found;
}

// Sets the session's server from the flags, the environment and the user's contexts.
absl::Status TakeEndpoint(const Flags& flags, Session& session) {
  const absl::StatusOr<EndpointContext> context = ChosenContext(flags.context);
  if (!context.ok()) return context.status();
  session.endpoint_settings = EndpointSettings(flags.endpoint, *context);
  const std::string from = context->name.empty()                      ? "default"
                           : context->chosen                          ? "--context"
                           : std::getenv("WINNOW_CONTEXT") != nullptr ? "WINNOW_CONTEXT"
                                                                      : "winnow context use";
  session.endpoint_settings.insert(session.endpoint_settings.begin(), {"context", context->name, from});
  absl::StatusOr<Endpoint> endpoint = MakeEndpoint(flags.endpoint, *context);
  if (!endpoint.ok()) return endpoint.status();
  session.endpoint = *std::move(endpoint);
  return absl::OkStatus();
}

// Whether the command may get by without a server: then it matters only to its calls that there is none.
bool MayAskNoServer(const std::string& command, const Session& session) {
  if (command == "config") return !session.endpoint_settings.empty();
  constexpr std::string_view kSuch[] = {"context",   "completion", "__complete", "import",
                                        "sagemaker", "plan",       "simulate",   "run"};
  return std::find(std::begin(kSuch), std::end(kSuch), command) != std::end(kSuch);
}

int WrongUsage(const CLI::App& app, const std::string& message) {
  std::string command = "winnow";
  for (const CLI::App* each = &app; !each->get_subcommands().empty();) {
    each = each->get_subcommands().front();
    command += " " + each->get_name();
  }
  Terminal(STDERR_FILENO, true).Print(fmt::format("winnow: {}\nSee: {} --help\n", message, command));
  return kUsage;
}

// What there is instead of what the command line has and no command takes.
std::string ProblemOf(const UnknownWord& unknown) {
  const std::string problem = Clean(unknown.Problem());
  switch (unknown.kind) {
    case UnknownWord::Kind::kFlag:
      return problem +
             (unknown.command->get_name() == "run" ? " (a program and its flags stand after --)" : "");
    case UnknownWord::Kind::kCommand: {
      const auto* const instead =
          std::find_if(std::begin(kInstead), std::end(kInstead), [&unknown](const auto& each) {
            return unknown.command->get_parent() == nullptr && each.first == unknown.word;
          });
      return instead == std::end(kInstead)
                 ? problem
                 : fmt::format("there is no command \"{}\"; {}", unknown.word, instead->second);
    }
    case UnknownWord::Kind::kArgument: {
      const CLI::Option* trial = unknown.command->get_option_no_throw("--trial");
      const bool names_trial = trial != nullptr && trial->count() == 0 &&
                               unknown.word.find_first_not_of("0123456789") == std::string::npos;
      return problem + (names_trial ? fmt::format("; did you mean --trial {}?", unknown.word) : "");
    }
  }
  return problem;
}

int Main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // this program prints its own messages
  CLI::App app("Tunes hyperparameters with a winnow-server.", "winnow");
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.footer(kFooter);
  app.set_version_flag("--version", "winnow " WINNOW_VERSION);
  Flags flags;
  const std::vector<const CLI::Option*> reach = {
      app.add_option("--server", flags.endpoint.server,
                     "address of winnow-server, or unix:/PATH; where several servers share one database, all "
                     "their addresses with commas "
                     "between them (default 127.0.0.1:7070)")
          ->option_text("HOST:PORT"),
      app.add_option(
             "--tls-ca", flags.endpoint.tls_ca,
             "CA certificate that signed the server's certificate (PEM; default: the system's authorities)")
          ->option_text("FILE"),
      app.add_option("--tls-cert", flags.endpoint.tls_cert,
                     "client certificate, if the server requires one (PEM)")
          ->option_text("FILE"),
      app.add_option("--tls-key", flags.endpoint.tls_key, "private key of the client certificate (PEM)")
          ->option_text("FILE"),
      app.add_option("--token-file", flags.endpoint.token_file, "file with the access token")
          ->option_text("FILE"),
      app.add_option("--context", flags.context,
                     "server and credentials saved under this name, see winnow context")
          ->option_text("NAME"),
  };
  app.get_option("--context")->excludes(app.get_option("--server"));
  app.add_option("--timeout", flags.timeout, "longest wait for each answer (default 10)")
      ->check(Seconds(0.001, 86400))
      ->option_text("SECONDS");
  app.add_flag("--no-color", flags.no_color, "plain text on terminals too");
  std::string output;
  const CLI::Option* early_output =
      app.add_option("-o,--output", output, "output format of a command, given before it")->group("");
  Commands commands(app, flags);

  if (argc < 2) {
    Terminal(STDERR_FILENO, true).Print(app.help());
    return kUsage;
  }
  if (const CommandLine line = ReadCommandLine(app, argc, argv); line.exit_code) {
    return *line.exit_code;
  } else if (!line.problem.empty()) {
    return WrongUsage(app, line.unknown.has_value() ? ProblemOf(*line.unknown) : line.problem);
  }
  if (early_output->count() > 0) {
    if (const std::string wrong = commands.TakeOutput(output); !wrong.empty()) return WrongUsage(app, wrong);
  }

  Session session{.out = Terminal(STDOUT_FILENO, flags.no_color),
                  .err = Terminal(STDERR_FILENO, flags.no_color),
                  .connected = nullptr};
  for (const CLI::Option* option : reach) {
    if (option->count() > 0)
      session.endpoint_flags += fmt::format(" {} {}", option->get_name(), option->as<std::string>());
  }
  session.timeout = absl::Seconds(flags.timeout);
  session.output = flags.output == "json"    ? Output::kJson
                   : flags.output == "jsonl" ? Output::kJsonLines
                   : flags.output == "csv"   ? Output::kCsv
                                             : Output::kText;
  if (const absl::Status status = TakeEndpoint(flags, session); !status.ok()) {
    if (!MayAskNoServer(app.get_subcommands().front()->get_name(), session))
      return WrongUsage(app, MessageOf(status));
    session.endpoint_problem = UsageError(MessageOf(status));
  }

  const Exit result = commands.chosen()(session);
  if (!result.ok()) {
    session.err.Print(
        fmt::format("{} {}\n", session.err.Paint(Style::kBad, "winnow:"), MessageOf(result.status())));
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

int main(int argc, char** argv) {
  winnow::OpenStandardStreams();
  return winnow::cli::Main(argc, argv);
}
