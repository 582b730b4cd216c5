// winnow: the command line. Flags are read here and nowhere else; each command is a function of its own file.

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/analytics.h"
#include "cli/completion.h"
#include "cli/jobs.h"
#include "cli/logs.h"
#include "cli/plan.h"
#include "cli/session.h"
#include "cli/submit.h"
#include "cli/text.h"
#include "cli/trials.h"
#include "cli/validators.h"
#include "cli/watch.h"
#include "cli/workers.h"

namespace winnow::cli {
namespace {

constexpr char kFooter[] =
    "Every command takes --server HOST:PORT, --timeout SECONDS and --no-color too.\n"
    "JOB is a job's id, or \"latest\" for the newest one.\n"
    "Exit codes: 0 success, 1 an error or a job that failed, 2 wrong usage, 130 Ctrl-C.\n"
    "Environment: WINNOW_SERVER (as --server), NO_COLOR (as --no-color).";

// What the flags of all commands are read into.
struct Flags {
  std::string server;
  double timeout = 10;
  bool no_color = false;
  std::string output = "text";
  std::string job;
  std::vector<std::string> states;
  double patience = 600;
  int64_t list_limit = 50;
  bool all_workers = false;
  std::string shell;
  SubmitOptions submit;
  TrialsOptions trials;
  MetricsOptions metrics;
  LogsOptions logs;
  int64_t trial = 0;  // 0: not given
};

using Run = std::function<Exit(Session&)>;

const std::vector<std::string>& TrialStates() {
  static const std::vector<std::string> states = {"pending",   "running", "paused",
                                                  "completed", "stopped", "failed"};
  return states;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Every command, by name, and what it runs.
class Commands {
 public:
  Commands(CLI::App& app, Flags& flags) : app_(app), flags_(flags) { Define(); }

  // Gives the command that is used the --output which stood before it. What is wrong with it; "" if nothing.
  std::string TakeOutput(std::string output) const {
    const CLI::App* command = app_.get_subcommands().front();
    const auto formats = formats_.find(command->get_name());
    if (formats == formats_.end()) return command->get_name() + " takes no --output";
    const std::string wrong = formats->second(output);
    if (!wrong.empty()) return "--output: " + wrong;
    if (command->get_option("--output")->count() == 0) flags_.output = output;
    return "";
  }

  const Run& chosen() const { return runs_.at(app_.get_subcommands().front()->get_name()); }

  std::vector<CommandWords> words() const {
    std::vector<CommandWords> words;
    for (const CLI::App* command : app_.get_subcommands(nullptr)) {
      if (command->get_group().empty()) continue;
      CommandWords entry;
      entry.name = command->get_name();
      entry.help = command->get_description();
      for (const CLI::App* owner : {command, static_cast<const CLI::App*>(&app_)}) {
        for (const CLI::Option* option : owner->get_options()) {
          if (option->get_positional()) {
            entry.takes_job = entry.takes_job || option->get_name(true) == "JOB";
            entry.takes_file = entry.takes_file || option->get_name(true) == "FILE";
          } else if (option->get_name() != "--version" && !option->get_group().empty()) {
            for (const std::string& name : option->get_lnames()) entry.flags.push_back("--" + name);
          }
        }
      }
      words.push_back(std::move(entry));
    }
    return words;
  }

 private:
  enum class Formats { kTextJson, kTextJsonCsv, kNone };

  CLI::App* Add(const std::string& name, const std::string& help, Formats formats, Run run) {
    CLI::App* command = app_.add_subcommand(name, help);
    command->fallthrough();
    if (formats != Formats::kNone) {
      const bool csv = formats == Formats::kTextJsonCsv;
      formats_[name] = csv ? WordOf({"text", "json", "csv"}) : WordOf({"text", "json"});
      command
          ->add_option("-o,--output", flags_.output,
                       csv ? "text (default), json or csv" : "text (default) or json")
          ->check(formats_[name])
          ->option_text("FORMAT");
    }
    runs_[name] = std::move(run);
    return command;
  }

  void Job(CLI::App* command, std::string* job) {
    command->add_option("JOB", *job, "job id, or latest")->required()->check(JobName())->option_text(" ");
  }

  CLI::Option* Trial(CLI::App* command, int64_t* trial) {
    return command->add_option("TRIAL", *trial, "trial number")->check(Whole(1, INT64_MAX))->option_text(" ");
  }

  void File(CLI::App* command) {
    command->add_option("FILE", flags_.submit.file, "job file (JSON); - reads standard input")
        ->required()
        ->check(NotEmpty(4096))
        ->option_text(" ");
    command->add_option("--name", flags_.submit.name, "name of the job, instead of the file's")
        ->check(NotEmpty(63))
        ->option_text("NAME");
  }

  void Define() {
    Flags& f = flags_;
    CLI::App* submit = Add("submit", "Start the job that a job file describes", Formats::kTextJson,
                           [&f](Session& session) { return Submit(session, f.submit); });
    File(submit);
    submit->add_flag("-w,--watch", f.submit.watch,
                     "show it until it ends, then a summary; exit code 1 if it failed");
    submit
        ->add_option("--request-id", f.submit.request_id,
                     "a second submit with the same id makes no second job")
        ->check(NotEmpty(128))
        ->option_text("ID");

    File(Add("plan", "Show every bracket and rung a job file would run, without a server", Formats::kTextJson,
             [&f](Session& session) { return ShowPlan(session, f.submit.file, f.submit.name); }));

    Add("list", "List jobs, newest first", Formats::kTextJson,
        [&f](Session& session) { return ListJobs(session, f.list_limit); })
        ->add_option("--limit", f.list_limit, "at most so many (default 50)")
        ->check(Whole(1, 100000))
        ->option_text("N");

    CLI::App* describe =
        Add("describe", "Show a job, or one of its trials with its attempts and events", Formats::kTextJson,
            [&f](Session& session) {
              return f.trial > 0 ? DescribeTrial(session, f.job, f.trial) : DescribeJob(session, f.job);
            });
    Job(describe, &f.job);
    Trial(describe, &f.trial);

    CLI::App* trials = Add("trials", "List a job's trials", Formats::kTextJson, [&f](Session& session) {
      for (const std::string& state : f.states) {
        v1::Trial::State value = v1::Trial::STATE_UNSPECIFIED;
        v1::Trial::State_Parse(Upper(state), &value);
        f.trials.states.push_back(value);
      }
      return ListTrials(session, f.trials);
    });
    Job(trials, &f.trials.job);
    trials
        ->add_option("--sort", f.trials.sort,
                     "number, objective (best first), resource, training_seconds or a hyperparameter; "
                     "\"COLUMN desc\" reverses")
        ->check(NotEmpty(256))
        ->option_text("COLUMN");
    trials->add_option("--state", f.states, "only these: " + OneOf(TrialStates()))
        ->delimiter(',')
        ->transform([](std::string text) { return CLI::detail::to_lower(text); })
        ->check(WordOf(TrialStates()))
        ->option_text("STATE,...");
    trials->add_option("--limit", f.trials.limit, "at most so many (default all)")
        ->check(Whole(1, INT64_MAX))
        ->option_text("N");

    Job(Add("best", "Show the best configuration", Formats::kTextJson,
            [&f](Session& session) { return ShowBest(session, f.job); }),
        &f.job);
    Job(Add("analytics", "One row per trial: hyperparameters, objective, resource, times, reason",
            Formats::kTextJsonCsv, [&f](Session& session) { return ShowAnalytics(session, f.job); }),
        &f.job);

    CLI::App* metrics = Add("metrics", "Learning curves: what trials reported", Formats::kTextJsonCsv,
                            [&f](Session& session) { return ShowMetrics(session, f.metrics); });
    Job(metrics, &f.metrics.job);
    metrics->add_option("--trial", f.metrics.trials, "only these trials")
        ->delimiter(',')
        ->check(Whole(1, INT64_MAX))
        ->option_text("N,...");
    metrics->add_option("--metric", f.metrics.metrics, "only these metrics")
        ->delimiter(',')
        ->check(NotEmpty(256))
        ->option_text("NAME,...");

    CLI::App* watch = Add("watch", "Show a job until it ends, then a summary; exit code 1 if it failed",
                          Formats::kTextJson, [&f](Session& session) {
                            return Watch(session, {f.job, absl::Seconds(f.patience)});
                          });
    Job(watch, &f.job);
    watch->add_option("--patience", f.patience, "give up when the server is away for so long (default 600)")
        ->check(Seconds(0, 1e9))
        ->option_text("SECONDS");

    CLI::App* logs = Add("logs", "Show what a trial printed", Formats::kTextJson,
                         [&f](Session& session) { return ShowLogs(session, f.logs); });
    Job(logs, &f.logs.job);
    Trial(logs, &f.logs.trial)->required();
    logs->add_option("--attempt", f.logs.attempt, "of this attempt (default: the newest)")
        ->check(Whole(1, INT64_MAX))
        ->option_text("N");
    logs->add_option("--rank", f.logs.rank, "of this rank of the trial's cluster (default 0)")
        ->check(Whole(0, 63))
        ->option_text("N");
    logs->add_flag("--stderr", f.logs.standard_error, "standard error instead of standard output");
    logs->add_flag("-f,--follow", f.logs.follow, "go on until the attempt ends");

    Job(Add("stop", "Start no further trial and stop those that run", Formats::kTextJson,
            [&f](Session& session) { return StopJob(session, f.job); }),
        &f.job);
    Job(Add("delete", "Forget a job that has ended, with all its trials", Formats::kTextJson,
            [&f](Session& session) { return DeleteJob(session, f.job); }),
        &f.job);
    Add("workers", "List workers and their slots", Formats::kTextJson, [&f](Session& session) {
      return ListWorkers(session, f.all_workers);
    })->add_flag("--all", f.all_workers, "those that were lost or have left, too");

    Add("completion", "Print a completion script: source <(winnow completion bash)", Formats::kNone,
        [this, &f](Session& session) -> Exit {
          session.out.Print(CompletionScript(f.shell, words()));
          return kSuccess;
        })
        ->add_option("SHELL", f.shell, "bash or zsh")
        ->required()
        ->check(WordOf({"bash", "zsh"}))
        ->option_text(" ");
    Add("__complete", "", Formats::kNone, [](Session& session) { return CompleteJobs(session); })
        ->group("")
        ->add_option("WHAT", f.shell)
        ->required()
        ->check(WordOf({"jobs"}));
  }

  CLI::App& app_;
  Flags& flags_;
  std::map<std::string, Run> runs_;
  std::map<std::string, CLI::Validator> formats_;  // of --output, of commands that take it
};

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
