#include <cctype>

#include "cli/commands.h"
#include "cli/commands/download.h"
#include "cli/commands/jobs.h"
#include "cli/commands/watch.h"
#include "cli/commands/workers.h"
#include "cli/output/text.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

const std::vector<std::string>& TrialStates() {
  static const std::vector<std::string> states = {"pending", "running",   "paused", "completed",
                                                  "pruned",  "cancelled", "failed"};
  return states;
}

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

void Commands::DefineJobs() {
  Flags& f = flags_;
  CLI::App* submit = Add("submit", "Start the job that a job file describes", Formats::kTextJson,
                         [&f](Session& session) { return Submit(session, f.submit); });
  File(submit, &f.submit.file, &f.submit.name);
  submit->add_flag("-w,--watch", f.submit.watch,
                   "follow it until it ends, then print a summary; exit code 1 if it failed");
  submit->add_flag("--verbose", f.submit.verbose,
                   "with --watch, outside a terminal: every event with its reason");
  submit
      ->add_option("--request-id", f.submit.request_id,
                   "submitting again with the same id creates no second job")
      ->check(NotEmpty(128))
      ->option_text("ID");

  Add("list", "List jobs, newest first", Formats::kList,
      [&f](Session& session) { return ListJobs(session, f.list_limit); })
      ->add_option("--limit", f.list_limit, "at most this many (default 50)")
      ->check(Whole(1, 100000))
      ->option_text("N");

  CLI::App* describe =
      Add("describe",
          "Show a job with its failures and notices, or one of its trials with its attempts and events",
          Formats::kTextJson, [&f](Session& session) {
            return f.trial > 0 ? DescribeTrial(session, f.job, f.trial) : DescribeJob(session, f.job);
          });
  Job(describe, &f.job);
  Trial(describe, &f.trial);

  CLI::App* trials = Add("trials", "List a job's trials", Formats::kTable, [&f](Session& session) {
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
  trials->add_option("--state", f.states, "only trials that are " + OneOf(TrialStates()))
      ->delimiter(',')
      ->transform([](std::string text) { return CLI::detail::to_lower(text); })
      ->check(WordOf(TrialStates()))
      ->option_text("STATE,...");
  trials->add_option("--limit", f.trials.limit, "at most this many (default all)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");

  CLI::App* best = Add("best", "Show the best configuration, or download its model", Formats::kTextJson,
                       [&f](Session& session) -> Exit {
                         if (!f.download.folder.empty()) return Download(session, f.download);
                         return ShowBest(session, f.download.job);
                       });
  Job(best, &f.download.job);
  CLI::Option* into =
      best->add_option("--download", f.download.folder,
                       "download the best trial's model into this directory; created if missing");
  into->check(NotEmpty(4096))->option_text("DIR");
  best->add_option("--trial", f.download.trial, "download from this trial (default: the best)")
      ->check(Whole(1, INT64_MAX))
      ->needs(into)
      ->option_text("N");
  best->add_flag("--checkpoint", f.download.checkpoint,
                 "download the newest checkpoint instead of the model")
      ->needs(into)
      ->option_text(" ");
  Job(Add("analytics", "One row per trial: hyperparameters, objective, resource, times, reason",
          Formats::kTable, [&f](Session& session) { return ShowAnalytics(session, f.job); }),
      &f.job);

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

  CLI::App* watch = Add("watch", "Follow a job until it ends, then print a summary; exit code 1 if it failed",
                        Formats::kTextJson, [&f](Session& session) {
                          return Watch(session, f.job, {absl::Seconds(f.patience), f.verbose});
                        });
  Job(watch, &f.job);
  watch->add_flag("--verbose", f.verbose,
                  "outside a terminal: every event with its reason, instead of one line per trial");
  watch
      ->add_option("--patience", f.patience,
                   "give up when the server has been away for this long (default 600)")
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

  Job(Add("stop", "Stop a job: running trials end, and no further trial starts", Formats::kTextJson,
          [&f](Session& session) { return StopJob(session, f.job); }),
      &f.job);
  Job(Add("delete", "Delete a job that has ended, with all its trials", Formats::kTextJson,
          [&f](Session& session) { return DeleteJob(session, f.job); }),
      &f.job);
  Add("workers", "List workers and their slots", Formats::kList, [&f](Session& session) {
    return ListWorkers(session, f.all_workers);
  })->add_flag("--all", f.all_workers, "include workers that were lost or have left");

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

}  // namespace winnow::cli
