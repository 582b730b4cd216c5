#include "cli/commands.h"

#include <algorithm>
#include <utility>

#include "base/names.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

// Returns the heading of the command in the help text.
std::string GroupOf(const std::string& command) {
  static const std::map<std::string, std::vector<std::string>> kGroups = {
      {"Jobs",
       {"plan", "simulate", "submit", "run", "list", "describe", "annotate", "watch", "pause", "resume",
        "limit", "enqueue", "priority", "range", "stop", "keep", "continue", "delete"}},
      {"Results", {"trials", "best", "source", "analytics", "metrics", "compare", "logs", "replay"}},
      {"Ask and tell", {"ask", "tell", "complete"}},
      {"Workers", {"workers", "cordon", "drain", "uncordon", "pools", "doctor"}}};
  for (const auto& [group, commands] : kGroups) {
    if (std::find(commands.begin(), commands.end(), command) != commands.end()) return group;
  }
  return "Server and tokens";
}

constexpr int64_t kMostWorkers = 10000;
constexpr int64_t kMostSlots = 1024;
constexpr int64_t kMostGpus = 1024;
constexpr int64_t kMostSeeds = 1000;
constexpr int64_t kMostAsked = 1000;  // trials of one SuggestTrials
constexpr int kMostCompared = 100;    // jobs
constexpr double kLongestAsk = 60;    // seconds that a server holds SuggestTrials
constexpr double kLongestUnit = 1e7;  // seconds

}  // namespace

Commands::Commands(CLI::App& app, Flags& flags) : app_(app), flags_(flags) {
  DefineJobs();
  DefineRun();
  DefineSearch();
  DefineAsks();
  DefineBackup();
  DefineTokens();
  DefineProjects();
  DefineAudit();
  DefineWebhooks();
  DefineContexts();
  DefineLogin();
  DefineImport();
  DefineSagemaker();
  DefineCompletion();
}

std::string Commands::TakeOutput(std::string output) const {
  const CLI::App* command = app_.get_subcommands().front();
  const auto formats = formats_.find(command->get_name());
  if (formats == formats_.end()) return command->get_name() + " takes no --output";
  const std::string wrong = formats->second(output);
  if (!wrong.empty()) return "--output: " + wrong;
  if (command->get_option("--output")->count() == 0) flags_.output = output;
  return "";
}

std::vector<CommandWords> Commands::words() const {
  std::vector<CommandWords> words;
  for (const CLI::App* command : app_.get_subcommands(nullptr)) {
    if (command->get_group().empty()) continue;
    CommandWords entry;
    entry.name = command->get_name();
    entry.help = command->get_description();
    for (const CLI::App* below : command->get_subcommands(nullptr)) entry.words.push_back(below->get_name());
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

CLI::App* Commands::Add(const std::string& name, const std::string& help, Formats formats, Run run) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->group(GroupOf(name));
  command->fallthrough();
  if (formats != Formats::kNone) {
    std::vector<std::string> words = {"text", "json"};
    if (formats != Formats::kTextJson) words.push_back("jsonl");
    if (formats == Formats::kTable) words.push_back("csv");
    std::string choice = OneOf(words);
    choice.insert(words.front().size(), " (default)");
    formats_[name] = WordOf(words);
    command->add_option("-o,--output", flags_.output, choice)->check(formats_[name])->option_text("FORMAT");
  }
  runs_[name] = std::move(run);
  return command;
}

void Commands::Job(CLI::App* command, std::string* job) {
  command->add_option("JOB", *job, "job id, or latest")->required()->check(JobName())->option_text(" ");
}

CLI::Option* Commands::Trial(CLI::App* command, int64_t* trial) {
  return command->add_option("TRIAL", *trial, "trial number")->check(Whole(1, INT64_MAX))->option_text(" ");
}

void Commands::Tags(CLI::App* command, const std::string& flag, std::vector<std::string>* tags,
                    const std::string& help) {
  command->add_option(flag, *tags, help)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(NotEmpty(64))
      ->option_text("TAG,...");
}

CLI::Option* Commands::File(CLI::App* command, std::string* file, std::string* name) {
  CLI::Option* option = command->add_option("FILE", *file, "job file (JSON); - reads standard input");
  option->required()->check(NotEmpty(4096))->option_text(" ");
  command->add_option("--name", *name, "name of the job, instead of the file's")
      ->check(NotEmpty(63))
      ->option_text("NAME");
  return option;
}

void Commands::DefineCompletion() {
  Add("completion", "Print a shell's completion script: source <(winnow completion bash)", Formats::kNone,
      [this](Session& session) -> Exit {
        session.out.Print(CompletionScript(flags_.shell, words()));
        return kSuccess;
      })
      ->add_option("SHELL", flags_.shell, "bash, zsh or fish")
      ->required()
      ->check(WordOf({"bash", "zsh", "fish"}))
      ->option_text(" ");
  CLI::App* complete = Add("__complete", "", Formats::kNone, [this](Session& session) {
    if (flags_.shell == "contexts") return CompleteContexts(session);
    return flags_.shell == "jobs" ? CompleteJobs(session) : CompleteColumns(session, flags_.job);
  });
  complete->group("");
  complete->add_option("WHAT", flags_.shell)->required()->check(WordOf({"jobs", "columns", "contexts"}));
  complete->add_option("JOB", flags_.job);
}

void Commands::DefineSearch() {
  Flags& f = flags_;
  CLI::App* plan = Add("plan",
                       "Show what a job file would run: brackets, rungs, units and time; needs no server. "
                       "With --suggest-ranges: propose ranges from the results of earlier jobs",
                       Formats::kTextJson, [&f](Session& session) { return ShowPlan(session, f.plan); });
  File(plan, &f.plan.file, &f.plan.name);
  plan->add_option("--workers", f.plan.workers, "number of workers, for the time estimate (default 1)")
      ->check(Whole(1, kMostWorkers))
      ->option_text("N");
  plan->add_option("--slots", f.plan.slots, "number of slots of each worker (default 1)")
      ->check(Whole(1, kMostSlots))
      ->option_text("N");
  plan->add_option("--gpus", f.plan.gpus, "number of GPUs of each worker (default: as many as the job needs)")
      ->check(Whole(0, kMostGpus))
      ->option_text("N");
  plan->add_option("--unit-seconds", f.plan.unit_seconds,
                   "duration of one unit of training; without it, there is no time estimate")
      ->check(Seconds(0, kLongestUnit))
      ->option_text("SECONDS");
  plan->add_option("--startup-seconds", f.plan.startup_seconds,
                   "start-up time of every part before its first unit: imports, data (default 0)")
      ->check(Seconds(0, kLongestUnit))
      ->option_text("SECONDS")
      ->needs("--unit-seconds");
  plan->add_option("--like", f.plan.like,
                   "an earlier job on the server, of which the measured duration of a unit and start-up "
                   "times, cold and warm, are used")
      ->excludes("--unit-seconds")
      ->option_text("JOB");
  auto* suggest =
      plan->add_flag("--suggest-ranges", f.plan.suggest_ranges,
                     "propose ranges from the results of earlier jobs on the server, and print parameters "
                     "to paste into the job file");
  plan->add_option(
          "--from", f.plan.from,
          "the earlier jobs (default: the newest 20 with the same objective and some of the same parameters)")
      ->needs(suggest)
      ->option_text("JOB ...");

  CLI::App* simulate = Add(
      "simulate", "Run a job file over a table of recorded learning curves, in virtual time; needs no server",
      Formats::kTextJson, [&f](Session& session) { return ShowSimulation(session, f.simulate); });
  File(simulate, &f.simulate.file, &f.simulate.name);
  simulate
      ->add_option(
          "--table", f.simulate.table,
          "CSV: a column per hyperparameter, optionally seconds_per_unit, then one per level: 1, 2, …")
      ->required()
      ->check(NotEmpty(4096))
      ->option_text("CSV REQUIRED");
  simulate->add_option("--workers", f.simulate.workers, "number of virtual workers (default 1)")
      ->check(Whole(1, kMostWorkers))
      ->option_text("N");
  simulate->add_option("--slots", f.simulate.slots, "slots of each worker (default 1)")
      ->check(Whole(1, kMostSlots))
      ->option_text("N");
  simulate->add_option("--gpus", f.simulate.gpus, "GPUs of each worker (default: as many as the job needs)")
      ->check(Whole(0, kMostGpus))
      ->option_text("N");
  simulate->add_option("--seed", f.simulate.seed, "seed of the first simulation (default: the file's)")
      ->check(Whole(0, INT64_MAX))
      ->option_text("N");
  simulate
      ->add_option("--seeds", f.simulate.seeds, "number of simulations, each with the next seed (default 1)")
      ->check(Whole(1, kMostSeeds))
      ->option_text("N");
  simulate
      ->add_option("--startup-seconds", f.simulate.startup_seconds,
                   "start-up time of every part before its first unit: imports, data (default 0)")
      ->check(Seconds(0, kLongestUnit))
      ->option_text("SECONDS");

  CLI::App* replay =
      Add("replay", "Recompute a job's decisions from its record, and compare", Formats::kTextJson,
          [&f](Session& session) { return Replay(session, f.job, f.verify); });
  Job(replay, &f.job);
  replay->add_flag("--verify", f.verify, "exit code 1 unless every decision is the same, bit for bit");

  CLI::App* compare = Add("compare",
                          "Compare jobs, or one job's trials by a hyperparameter or by nodes: best, time and "
                          "node-seconds, with the Pareto front",
                          Formats::kTable, [&f](Session& session) { return Compare(session, f.compare); });
  compare->add_option("JOB", f.compare.jobs, "job ids, or latest")
      ->required()
      ->expected(1, kMostCompared)
      ->check(JobName())
      ->option_text("...");
  CLI::Option* by_nodes =
      compare->add_flag("--by-nodes", f.compare.by_nodes, "one job's trials, by number of nodes");
  compare->add_option("--by", f.compare.by, "one job's trials, by the value of a hyperparameter")
      ->check(NotEmpty(128))
      ->excludes(by_nodes)
      ->option_text("NAME");
}

CLI::App* Commands::AddTell(const std::string& name, const std::string& help, Run run) {
  Flags& f = flags_;
  CLI::App* command = Add(name, help, Formats::kTextJson, std::move(run));
  Job(command, &f.tell.job);
  Trial(command, &f.tell.trial)->required();
  command->add_option("ATTEMPT", f.tell.attempt, "attempt number, as ask printed it")
      ->required()
      ->check(Whole(1, INT64_MAX))
      ->option_text(" ");
  command->add_option("--metric", f.tell.metrics, "a metric's value at --resource; may be given again")
      ->allow_extra_args(false)
      ->check(NotEmpty(256))
      ->option_text("NAME=VALUE");
  command->add_option("--resource", f.tell.resource, "rounds or epochs trained so far, from 1")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  return command;
}

void Commands::DefineAsks() {
  Flags& f = flags_;
  CLI::App* ask =
      Add("ask",
          "Get trials to train yourself (external trainer), one per line: TRIAL ATTEMPT FROM TO NAME=VALUE…",
          Formats::kTextJson, [&f](Session& session) { return Ask(session, f.ask); });
  Job(ask, &f.ask.job);
  ask->add_option("--count", f.ask.count, "at most this many (default 1)")
      ->check(Whole(1, kMostAsked))
      ->option_text("N");
  ask->add_option("--wait", f.ask.wait, "wait for something to train (default 0)")
      ->transform(WithoutUnit())
      ->check(Seconds(0, kLongestAsk))
      ->option_text("SECONDS");
  ask->add_option("--client", f.ask.client, "your name in messages (default: this host)")
      ->check(NotEmpty(128))
      ->option_text("NAME");

  AddTell("tell", "Report metric values of an asked trial, and learn whether to continue",
          [&f](Session& session) { return Tell(session, f.tell); });
  CLI::App* complete = AddTell("complete", "Mark an asked trial as done, or as failed",
                               [&f](Session& session) { return Complete(session, f.tell); });
  complete->add_flag("--failed", f.tell.failed, "the attempt failed");
  complete->add_option("--reason", f.tell.reason, "why it failed")
      ->check(NotEmpty(4096))
      ->option_text("TEXT");
}

}  // namespace winnow::cli
