#include <cstdint>

#include "cli/commands.h"
#include "cli/commands/replay.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

constexpr int64_t kMostWorkers = 10000;
constexpr int64_t kMostSlots = 1024;
constexpr int64_t kMostSeeds = 1000;
constexpr int64_t kMostAsked = 1000;  // trials of one SuggestTrials
constexpr int kMostCompared = 100;    // jobs
constexpr double kLongestAsk = 60;    // seconds that a server holds SuggestTrials
constexpr double kLongestUnit = 1e7;  // seconds

}  // namespace

void Commands::DefineSearch() {
  Flags& f = flags_;
  CLI::App* plan =
      Add("plan", "Show what a job file would run: brackets, rungs, units and time; needs no server",
          Formats::kTextJson, [&f](Session& session) { return ShowPlan(session, f.plan); });
  File(plan, &f.plan.file, &f.plan.name);
  plan->add_option("--workers", f.plan.workers, "number of workers, for the time estimate (default 1)")
      ->check(Whole(1, kMostWorkers))
      ->option_text("N");
  plan->add_option("--slots", f.plan.slots, "number of slots of each worker (default 1)")
      ->check(Whole(1, kMostSlots))
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

  CLI::App* simulate =
      Add("simulate",
          "Run a job file over a table of recorded learning curves, in virtual time; needs no server",
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
  CLI::App* complete =
      AddTell("complete", "Mark an asked trial as done, or as failed",
              [&f](Session& session) { return Complete(session, f.tell); });
  complete->add_flag("--failed", f.tell.failed, "the attempt failed");
  complete->add_option("--reason", f.tell.reason, "why it failed")
      ->check(NotEmpty(4096))
      ->option_text("TEXT");
}

}  // namespace winnow::cli
