// The commands for jobs: to create, show, change and end them.

#include <cctype>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/names.h"
#include "cli/commands.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

const std::vector<std::string>& TrialStates() {
  static const std::vector<std::string> states = {"pending", "running",   "paused", "completed",
                                                  "pruned",  "cancelled", "failed"};
  return states;
}

const std::vector<std::string>& JobStates() {
  static const std::vector<std::string> states = {"running", "stopping", "completed", "stopped", "failed"};
  return states;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// The states of a message's enum State by their names in lower case. REQUIRES: they are names of it.
template <typename Message>
std::vector<typename Message::State> StatesOf(const std::vector<std::string>& names) {
  std::vector<typename Message::State> states;
  for (const std::string& name : names) {
    typename Message::State state = Message::STATE_UNSPECIFIED;
    Message::State_Parse(Upper(name), &state);
    states.push_back(state);
  }
  return states;
}

}  // namespace

void Commands::DefineJobs() {
  Flags& f = flags_;
  CLI::App* submit = Add("submit", "Start the job that a job file describes", Formats::kTextJson,
                         [&f](Session& session) { return Submit(session, f.submit); });
  File(submit, &f.submit.file, &f.submit.name)->required(false);
  submit
      ->add_option(
          "--like", f.submit.like,
          "instead of FILE: the settings of a job that has ended; the new job begins with its results")
      ->check(JobName())
      ->option_text("JOB");
  submit
      ->add_option("--max-trials", f.submit.max_trials,
                   "trials of the new job, instead of the file's limits.max_trials")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  submit->add_flag("-w,--watch", f.submit.watch,
                   "follow it until it ends, then print a summary; exit code 1 if it failed");
  submit->add_flag("--verbose", f.submit.verbose,
                   "with --watch, outside a terminal: every event with its reason");
  submit
      ->add_option("--request-id", f.submit.request_id,
                   "submitting again with the same id creates no second job")
      ->check(NotEmpty(128))
      ->option_text("ID");
  submit
      ->add_option(
          "--project", f.submit.project,
          "the project that the job will belong to (default: WINNOW_PROJECT, else that of --like, else "
          "the default project)")
      ->envname("WINNOW_PROJECT")
      ->check(NotEmpty(128))
      ->option_text("PROJECT");

  CLI::App* list = Add("list", "List jobs, newest first", Formats::kList, [&f](Session& session) {
    f.list.states = StatesOf<v1::TuningJob>(f.job_states);
    return ListJobs(session, f.list);
  });
  list->add_option("--limit", f.list.limit, "at most this many (default 50)")
      ->check(Whole(1, 100000))
      ->option_text("N");
  Tags(list, "--tag", &f.list.tags, "only jobs that have all of these tags");
  list->add_option("--state", f.job_states, "only jobs that are " + OneOf(JobStates()))
      ->delimiter(',')
      ->transform([](std::string text) { return CLI::detail::to_lower(text); })
      ->check(WordOf(JobStates()))
      ->option_text("STATE,...");
  list->add_option("--search", f.list.search,
                   "only jobs whose id, tags, note, owner, metrics or parameters have this text")
      ->check(NotEmpty(256))
      ->option_text("TEXT");
  list->add_option("--project", f.list.project,
                   "only jobs of this project (\"default\": of the default project)")
      ->check(NotEmpty(128))
      ->option_text("PROJECT");

  CLI::App* annotate =
      Add("annotate", "Change the tags and the note of a job or of one of its trials", Formats::kTextJson,
          [&f](Session& session) { return Annotate(session, f.annotate); });
  Job(annotate, &f.annotate.job);
  Trial(annotate, &f.annotate.trial);
  Tags(annotate, "--tag", &f.annotate.tags, "add these tags");
  Tags(annotate, "--untag", &f.annotate.untags, "remove these tags");
  annotate
      ->add_option_function<std::string>(
          "--note", [&f](const std::string& note) { f.annotate.note = note; },
          "replace the note; \"\" removes it")
      ->option_text("TEXT");

  CLI::App* describe =
      Add("describe",
          "Show a job with its failures and notices, or one of its trials with its attempts and events",
          Formats::kTextJson, [&f](Session& session) {
            return f.trial > 0 ? DescribeTrial(session, f.job, f.trial) : DescribeJob(session, f.job);
          });
  Job(describe, &f.job);
  Trial(describe, &f.trial);

  CLI::App* trials = Add("trials", "List a job's trials", Formats::kTable, [&f](Session& session) {
    f.trials.states = StatesOf<v1::Trial>(f.states);
    return ListTrials(session, f.trials);
  });
  Job(trials, &f.trials.job);
  trials
      ->add_option("--sort", f.trials.sort,
                   "number, objective (best first), resource, training_seconds or a hyperparameter; "
                   "\"COLUMN desc\" reverses")
      ->check(NotEmpty(256))
      ->option_text("COLUMN");
  trials->add_option("--state", f.states, "only trials that are " + OneOf(TrialStates()))
      ->delimiter(',')
      ->transform([](std::string text) { return CLI::detail::to_lower(text); })
      ->check(WordOf(TrialStates()))
      ->option_text("STATE,...");
  Tags(trials, "--tag", &f.trials.tags, "only trials that have all of these tags");
  trials->add_option("--limit", f.trials.limit, "at most this many (default all)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");

  CLI::App* best = Add("best", "Show the best configuration, or download its model", Formats::kTextJson,
                       [&f](Session& session) -> Exit {
                         if (!f.download.folder.empty()) return Download(session, f.download);
                         if (f.download.front) return ShowFront(session, f.download.job);
                         if (f.schedule) return ShowSchedule(session, f.download.job, f.schedule_trial);
                         return ShowBest(session, f.download.job);
                       });
  Job(best, &f.download.job);
  CLI::Option* into = best->add_option(
      "--download", f.download.folder,
      "download the best trial's model into this directory; created if missing. With --front "
      "the models of the whole front, each into DIR/TRIAL");
  into->check(NotEmpty(4096))->option_text("DIR");
  CLI::Option* trial =
      best->add_option("--trial", f.download.trial, "download from this trial (default: the best)");
  trial->check(Whole(1, INT64_MAX))->needs(into)->option_text("N");
  best->add_flag("--checkpoint", f.download.checkpoint, "download the newest checkpoint instead of the model")
      ->needs(into)
      ->option_text(" ");
  best->add_flag("--front", f.download.front,
                 "show the Pareto front of a job with several objectives, with its hypervolume")
      ->excludes(trial)
      ->option_text(" ");
  CLI::Option* schedule = best->add_flag(
      "--schedule", f.schedule,
      "show the hyperparameters that the best trial was trained with, level by level (strategy PBT)");
  schedule->excludes(into)->option_text(" ");
  best->add_option("--of", f.schedule_trial, "show the schedule of this trial (default: the best)")
      ->check(Whole(1, INT64_MAX))
      ->needs(schedule)
      ->option_text("N");
  Job(Add("analytics", "One row per trial: hyperparameters, objective, resource, times, reason",
          Formats::kTable, [&f](Session& session) { return ShowAnalytics(session, f.job); }),
      &f.job);

  CLI::App* source = Add("source", "Show which code a job runs, or download it", Formats::kTextJson,
                         [&f](Session& session) { return DownloadSource(session, f.job, f.source_folder); });
  Job(source, &f.job);
  source
      ->add_option("--download", f.source_folder,
                   "download the job's source into this directory; created if missing")
      ->check(NotEmpty(4096))
      ->option_text("DIR");

  CLI::App* metrics = Add("metrics", "Learning curves: what trials reported", Formats::kTable,
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

  CLI::App* watch =
      Add("watch", "Follow a job until it ends, then print a summary; exit code 1 if it failed",
          Formats::kTextJson, [&f](Session& session) {
            return Watch(session, f.job, {absl::Seconds(f.patience), f.verbose, f.exec, f.from_start});
          });
  watch->get_option("--output")
      ->description("text (default) or json: a line for each event, and one for the job at its end");
  Job(watch, &f.job);
  watch->add_flag("--verbose", f.verbose,
                  "outside a terminal: every event with its reason, instead of one line per trial");
  CLI::Option* from_start = watch->add_flag("--from-start", f.from_start,
                                            "begin with the job's first event, also when it has ended");
  watch
      ->add_option(
          "--exec", f.exec,
          "run this shell command when the best improves, the first trials fail or the job ends; the "
          "event is on its standard input as JSON, and in WINNOW_EVENT, WINNOW_JOB, WINNOW_STATE, "
          "WINNOW_TRIAL and WINNOW_VALUE")
      ->check(NotEmpty(4096))
      ->excludes(from_start)
      ->option_text("COMMAND");
  watch
      ->add_option("--patience", f.patience,
                   "give up when the server has not answered for this long (default 600)")
      ->check(Seconds(0, 1e9))
      ->option_text("SECONDS");

  CLI::App* logs = Add("logs", "Show what a trial printed", Formats::kTextJson,
                       [&f](Session& session) { return ShowLogs(session, f.logs); });
  Job(logs, &f.logs.job);
  Trial(logs, &f.logs.trial)->required();
  logs->add_option("--attempt", f.logs.attempt, "which attempt (default: the newest)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  logs->add_option("--rank", f.logs.rank, "which rank of the trial's cluster (default 0)")
      ->check(Whole(0, 63))
      ->option_text("N");
  logs->add_flag("--stderr", f.logs.standard_error, "standard error instead of standard output");
  logs->add_flag("--raw", f.logs.raw, "print every byte on a terminal too, including escape sequences");
  logs->add_flag("-f,--follow", f.logs.follow, "keep printing until the attempt ends");
  logs->add_option("-n,--tail", f.logs.tail,
                   "only the last N lines of what there is; with -f, also what follows")
      ->check(Whole(0, INT64_MAX))
      ->option_text("N");

  DefineChanges();
  Job(Add("delete", "Delete a job that has ended, with all its trials", Formats::kTextJson,
          [&f](Session& session) { return DeleteJob(session, f.job); }),
      &f.job);
  Add("workers", "List workers and their slots", Formats::kList, [&f](Session& session) {
    return ListWorkers(session, f.all_workers);
  })->add_flag("--all", f.all_workers, "include workers that were lost or have left");

  CLI::App* pools = Add(
      "pools", "List the pools of workers and what their engines say", Formats::kList,
      [&f](Session& session) { return f.pools_run != nullptr ? f.pools_run(session) : ListPools(session); });
  CLI::App* render = pools->add_subcommand("render", "Print what a pool would submit to its engine");
  render->fallthrough();
  render->add_option("POOL", f.render_pool.pool, "its name")->required()->option_text(" ");
  render->add_option("--nodes", f.render_pool.nodes, "nodes of the allocation (default 1)")
      ->check(CLI::Range(1, 10'000));
  render->callback(
      [&f] { f.pools_run = [&f](Session& session) { return RenderPool(session, f.render_pool); }; });
  CLI::App* doctor = Add("doctor", "Check a pool: run a trivial trial on it and report each step",
                         Formats::kNone, [&f](Session& session) { return CheckPool(session, f.doctor); });
  doctor->add_option("--pool", f.doctor.pool, "its name")->required()->option_text("POOL");
  doctor->add_option("--patience", f.doctor.patience, "give up after so long (default 900)")
      ->check(CLI::Range(1.0, 1e7))
      ->option_text("SECONDS");

  const auto worker = [&f](CLI::App* command) {
    command->add_option("WORKER", f.worker_scheduling.worker, "its name, as workers lists it")
        ->required()
        ->check(NotEmpty(128))
        ->option_text(" ");
    command->add_option("--reason", f.worker_scheduling.reason, "shown with the worker")->option_text("TEXT");
    return command;
  };
  worker(Add("cordon", "Assign no new trials to a worker; running ones continue", Formats::kTextJson,
             [&f](Session& session) { return Cordon(session, f.worker_scheduling); }));
  worker(Add("drain",
             "Assign no new trials to a worker, and have it save checkpoints and hand back running ones",
             Formats::kTextJson, [&f](Session& session) { return Drain(session, f.worker_scheduling); }))
      ->add_flag_callback(
          "--no-wait", [&f] { f.worker_scheduling.wait = false; },
          "return at once instead of waiting until the worker is empty");
  worker(Add("uncordon", "Assign trials to a worker again, also to a quarantined one", Formats::kTextJson,
             [&f](Session& session) { return Uncordon(session, f.worker_scheduling); }));
}

// The limits that ChangedLimits has, into the message that `limits` gives.
CLI::App* Commands::Limits(CLI::App* command, const std::function<v1::ChangedLimits*()>& limits) {
  const auto number = [&](const char* flag, const char* help, void (v1::ChangedLimits::*set)(int64_t)) {
    command
        ->add_option_function<int64_t>(
            flag, [limits, set](int64_t value) { (limits()->*set)(value); }, help)
        ->check(Whole(0, INT64_MAX))
        ->option_text("N");
  };
  const auto amount = [&](const char* flag, const char* text, const char* help,
                          void (v1::ChangedLimits::*set)(double)) {
    command
        ->add_option_function<double>(
            flag, [limits, set](double value) { (limits()->*set)(value); }, help)
        ->check(CLI::Range(0.0, 1e9))
        ->option_text(text);
  };
  number("--max-trials", "trials in all; 0: no limit", &v1::ChangedLimits::set_max_trials);
  number("--max-parallel-trials", "trials at the same time; 0: no limit",
         &v1::ChangedLimits::set_max_parallel_trials);
  number("--max-total-resource", "units trained over all trials; 0: no limit",
         &v1::ChangedLimits::set_max_total_resource);
  amount("--max-wall-seconds", "SECONDS", "time since the job was created; 0: no limit",
         &v1::ChangedLimits::set_max_wall_seconds);
  amount("--max-node-seconds", "SECONDS", "sum over all ranks of the time they train; 0: no limit",
         &v1::ChangedLimits::set_max_node_seconds);
  amount("--max-cost", "COST", "what that time costs; 0: no limit", &v1::ChangedLimits::set_max_cost);
  return command;
}

void Commands::DefineChanges() {
  Flags& f = flags_;
  v1::ChangeTuningJobRequest& request = f.change.request;
  const auto job = [this, &f, &request](CLI::App* command) {
    Job(command, &f.change.job);
    command
        ->add_option_function<std::string>(
            "--reason", [&request](const std::string& reason) { request.set_reason(reason); },
            "why, recorded with the change and shown by describe")
        ->option_text("TEXT");
    return command;
  };
  job(Add("pause", "Pause a job: nothing starts until it is resumed; what runs trains its part to the end",
          Formats::kTextJson, [&f, &request](Session& session) {
            request.set_pause(true);
            return ChangeJob(session, f.change);
          }));
  job(Add("resume", "Let a paused job go on", Formats::kTextJson, [&f, &request](Session& session) {
    request.set_resume(true);
    return ChangeJob(session, f.change);
  }));
  job(Limits(Add("limit", "Raise, lower or remove limits of a job that runs", Formats::kTextJson,
                 [&f, &request](Session& session) -> Exit {
                   if (!request.has_limits())
                     return UsageError("no limit is given; expected some, such as --max-trials 50");
                   return ChangeJob(session, f.change);
                 }),
             [&request] { return request.mutable_limits(); }));
  job(Limits(Add("continue", "Let a job that has ended go on within higher limits, with all that it knows",
                 Formats::kTextJson,
                 [&f, &request](Session& session) {
                   request.mutable_continue_with();
                   return ChangeJob(session, f.change);
                 }),
             [&request] { return request.mutable_continue_with(); }));
  CLI::App* enqueue =
      job(Add("enqueue", "Have the next new trial of a job try this configuration", Formats::kTextJson,
              [&f](Session& session) { return Enqueue(session, f.change); }));
  enqueue->add_option("VALUES", f.change.values, "a value for each tuned hyperparameter, as NAME=VALUE")
      ->required()
      ->option_text("NAME=VALUE ...");
  CLI::App* priority = job(Add("priority", "Change a job's share of the slots", Formats::kTextJson,
                               [&f, &request](Session& session) {
                                 request.mutable_scheduling();
                                 return ChangeJob(session, f.change);
                               }));
  priority
      ->add_option_function<int>(
          "--priority", [&request](int value) { request.mutable_scheduling()->set_priority(value); },
          "jobs of a higher priority get free slots first")
      ->check(CLI::Range(-1000, 1000))
      ->option_text("N");
  priority
      ->add_option_function<double>(
          "--weight", [&request](double value) { request.mutable_scheduling()->set_weight(value); },
          "the share among jobs of the same priority")
      ->check(CLI::Range(0.001, 1000.0))
      ->option_text("WEIGHT");
  CLI::App* range =
      job(Add("range", "Narrow or widen the range of a job's hyperparameter: what is tried from now on",
              Formats::kTextJson, [&f](Session& session) { return ChangeJob(session, f.change); }));
  range
      ->add_option_function<std::string>(
          "PARAMETER", [&request](const std::string& name) { request.mutable_range()->set_parameter(name); },
          "the hyperparameter's name")
      ->required()
      ->option_text(" ");
  using Text = std::string* (v1::ChangedRange::*)();
  const auto end = [&request, range](const char* flag, Text text_of, const char* help) {
    range
        ->add_option_function<std::string>(
            flag,
            [&request, text_of](const std::string& text) { *(request.mutable_range()->*text_of)() = text; },
            help)
        ->option_text("NUMBER");
  };
  end("--min", &v1::ChangedRange::mutable_min, "the smallest value");
  end("--max", &v1::ChangedRange::mutable_max, "the largest value");
  const auto values = [&request, range](const char* flag, Text add, const char* help) {
    range
        ->add_option_function<std::vector<std::string>>(
            flag,
            [&request, add](const std::vector<std::string>& texts) {
              for (const std::string& text : texts) *(request.mutable_range()->*add)() = text;
            },
            help)
        ->option_text("VALUE ...");
  };
  values("--add", &v1::ChangedRange::add_add, "values of a discrete or categorical range that are tried too");
  values("--drop", &v1::ChangedRange::add_drop, "values that are not tried any more");
  CLI::App* stop = job(Add("stop",
                           "Stop a job: running trials end, and no further trial starts; or stop one of its "
                           "trials, which counts with what it has reported",
                           Formats::kTextJson, [&f, &request](Session& session) {
                             if (f.trial == 0) return StopJob(session, f.change.job, request.reason());
                             request.set_stop_trial(f.trial);
                             return ChangeJob(session, f.change);
                           }));
  Trial(stop, &f.trial);
  stop->get_option("--reason")
      ->description("with TRIAL: why, recorded with the change and shown by describe");
  CLI::App* keep =
      job(Add("keep", "Keep a trial from being pruned: it is trained to its full level, within the budget",
              Formats::kTextJson, [&f, &request](Session& session) {
                f.undo ? request.set_release_trial(f.trial) : request.set_keep_trial(f.trial);
                return ChangeJob(session, f.change);
              }));
  Trial(keep, &f.trial)->required();
  keep->add_flag("--undo", f.undo,
                 "let pruners end it again; if it went on only because it was kept, it ends now");
}

}  // namespace winnow::cli
