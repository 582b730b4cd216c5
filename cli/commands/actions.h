#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/output/table.h"
#include "cli/session/session.h"

// What each command does: its options, and the function that carries it out and returns the exit code. The
// file of a command is named after it.
namespace winnow::cli {

struct SubmitOptions {
  std::string file;        // "-": standard input; "": `like` is given
  std::string like;        // an ended job that the new one goes on from
  int64_t max_trials = 0;  // replaces limits.max_trials; 0: as it is
  std::string name;        // replaces the job file's, if given
  std::string request_id;  // "": a new one
  std::string project;     // "": that of `like`, else the default project
  bool watch = false;
  bool verbose = false;  // of the watch
};
// Starts the job of the file; or one with the spec of `like`, which begins with that job's results.
Exit Submit(Session& session, const SubmitOptions& options);
// The same for a spec that has been checked; `file` and `name` do not count.
Exit SubmitSpec(Session& session, v1::TuningJobSpec spec, const SubmitOptions& options);

struct ListOptions {
  int64_t limit = 0;                         // 0: all
  std::vector<std::string> tags;             // only jobs that have all of these
  std::vector<v1::TuningJob::State> states;  // empty: all
  std::string search;                        // "": all
  std::string project;                       // "": all
};
Exit ListJobs(Session& session, const ListOptions& options);
Exit DescribeJob(Session& session, const std::string& job);
Exit StopJob(Session& session, const std::string& job, const std::string& reason);
Exit DeleteJob(Session& session, const std::string& job);

struct ChangeOptions {
  std::string job;
  std::vector<std::string> values;     // NAME=VALUE of a configuration that is enqueued
  v1::ChangeTuningJobRequest request;  // without the job's id and the configuration
};
// Changes a job that runs, and prints the change.
Exit ChangeJob(Session& session, const ChangeOptions& options);
// Enqueues the configuration of `values`.
Exit Enqueue(Session& session, ChangeOptions options);

struct AnnotateOptions {
  std::string job;
  int64_t trial = 0;                // 0: the job itself
  std::vector<std::string> tags;    // to add
  std::vector<std::string> untags;  // to remove
  std::optional<std::string> note;  // replaces the note; "": none
};
// Changes the tags and the note of a job or a trial; without a change, prints them.
Exit Annotate(Session& session, const AnnotateOptions& options);
// "a, b"; "": it has no tags.
std::string TagsText(const v1::Annotation& annotation);
// The tags and the note as lines of a description; "" if there are none.
std::string AnnotationLines(const Terminal& out, const v1::Annotation& annotation);

// Returns the current rungs of a job's brackets, a line each; "" if it has none.
std::string BracketsText(const Session& session, const v1::TuningJob& job);

struct WatchOptions {
  // Gives up when the server was unreachable for this long.
  absl::Duration patience = absl::Minutes(10);
  // Outside a terminal: prints the server's events, including models' choices and stops, with reasons.
  bool verbose = false;
  std::string exec = "";    // a shell command that is run for events of the job (EventCommand); "": none
  bool from_start = false;  // shows past events too, also of a job that has ended
};

// Shows the job until it ends, then its summary. On a terminal: a table redrawn in place; elsewhere: a short
// line for each trial that ends and for each change of the job. Returns kFailure if the job failed,
// kInterrupted on Ctrl-C, which leaves the job running.
Exit Watch(Session& session, const std::string& job, const WatchOptions& options);

// Watches a job just described, with events after `after_sequence`.
Exit WatchFrom(Session& session, v1::TuningJob job, int64_t after_sequence, const WatchOptions& options);

struct TrialsOptions {
  std::string job;
  std::string sort;                      // a column; " desc" reverses; "": by number
  std::vector<v1::Trial::State> states;  // empty: all
  std::vector<std::string> tags;         // only trials that have all of these
  int64_t limit = 0;                     // 0: all
};
// Returns the columns by which trials can be sorted.
std::vector<std::string> SortColumns(const v1::TuningJobSpec& spec);
Exit ListTrials(Session& session, const TrialsOptions& options);
Exit DescribeTrial(Session& session, const std::string& job, int64_t trial);
// Adds a column per hyperparameter. On a narrow terminal the last ones are dropped first; a column to be
// dropped before all of them has a drop of kDropEarly or more.
constexpr int kDropEarly = 100'000;
void AddHyperparameters(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns);
// Adds a column per metric of StandingMetrics, and to a row the trial's newest values of these.
void AddStanding(const v1::TuningJobSpec& spec, std::vector<Table::Column>& columns);
void AddStanding(const v1::TuningJobSpec& spec, const v1::Trial& trial, std::vector<Table::Cell>& row);

// Prints the best trial's configuration; of a job with several objectives its Pareto front.
Exit ShowBest(Session& session, const std::string& job);
// Prints the trials of the Pareto front with their values, their parts of the hypervolume and their
// hyperparameters. FAILED_PRECONDITION for a job with one objective.
Exit ShowFront(Session& session, const std::string& job);
// Prints the hyperparameters of a trial's training, level by level. 0: of the best trial.
Exit ShowSchedule(Session& session, const std::string& job, int64_t trial);

struct DownloadOptions {
  std::string job;
  std::string folder;       // "": no download
  int64_t trial = 0;        // 0: the best
  bool checkpoint = false;  // instead of the model
  bool front = false;       // of all trials of the front, each into a directory named by its number
};

// Downloads the trial's model into the folder, which must be empty or missing: whole and verified, or not at
// all. A model that the server has not kept is fetched from its worker on request, and shortly after a
// trial's end its model may still be in transfer: this waits for it. With `front`, NOT_FOUND names the trials
// whose models could not be had; those of the others are there.
Exit Download(Session& session, const DownloadOptions& options);

// Prints which source the job has: digest, git commit, size; with `folder` ("": none), which must be empty or
// missing, also downloads it there.
Exit DownloadSource(Session& session, const std::string& job, const std::string& folder);

// Prints one row per trial: state, hyperparameters, final objective, resource used, times and stop reason.
Exit ShowAnalytics(Session& session, const std::string& job);

struct MetricsOptions {
  std::string job;
  std::vector<int64_t> trials;       // empty: all
  std::vector<std::string> metrics;  // empty: all
};
// Prints learning curves.
Exit ShowMetrics(Session& session, const MetricsOptions& options);

struct LogsOptions {
  std::string job;
  int64_t trial = 0;
  int64_t attempt = 0;  // 0: the newest
  int32_t rank = 0;
  bool standard_error = false;
  bool raw = false;
  bool follow = false;          // continue until the attempt's process has ended, over restarts of the server
  std::optional<int64_t> tail;  // of what there is, only that many lines
};
// Writes the output of a trial's process: unchanged with `raw` or without a terminal, otherwise cleaned
// for it. As JSON: a GetLogsResponse per line.
Exit ShowLogs(Session& session, const LogsOptions& options);

struct CompareOptions {
  std::vector<std::string> jobs;
  bool by_nodes = false;  // the trials of one job by their number of nodes…
  std::string by;         // …or by the value of this hyperparameter; "": jobs
};
// Prints result, duration and cost, a row each: of whole jobs, or of groups of one job's trials by nodes or
// by a hyperparameter, where times are means per trial. Marks Pareto-optimal rows: no other row is better in
// one of the three and as good in the others.
Exit Compare(Session& session, const CompareOptions& options);

struct PlanOptions {
  std::string file;
  std::string name;
  int64_t workers = 1;         // for the estimate of time
  int64_t slots = 1;           // of each worker
  int64_t gpus = -1;           // likewise; -1: as many as the job needs
  double unit_seconds = 0;     // 0: no estimate
  double startup_seconds = 0;  // of every part, before its first unit
  std::string like = "";       // a job on the server whose units and parts cost what these will; "": none
  bool suggest_ranges = false;
  std::vector<std::string> from;  // jobs to suggest ranges from; empty: the newest that fit
};

// Prints what the job file would run: brackets, rungs, totals and an estimate of the time. Needs no server
// without `like`.
// With suggest_ranges it prints instead which ranges earlier jobs on the server speak for, with the reasons,
// and the parameters of a job file that has them.
Exit ShowPlan(Session& session, const PlanOptions& options);

struct SimulateOptions {
  std::string file;
  std::string name;
  std::string table;
  int64_t workers = 1;
  int64_t slots = 1;  // of each worker
  int64_t gpus = -1;  // likewise; -1: as many as the job needs
  int64_t seed = -1;  // of the first run; -1: the file's
  int64_t seeds = 1;
  double startup_seconds = 0;  // of every part, before its first unit
};

// Runs the job file in virtual time over the table of recorded curves (cli/commands/curve_table.h), once per
// seed, beside a baseline of as many random trials, each trained to its end. Prints the result and the time
// of each. Needs no server.
Exit ShowSimulation(Session& session, const SimulateOptions& options);

// Has the server recompute the job's decisions from its recorded facts, and prints the first difference, if
// any; then the exit code is kFailure under `verify`.
Exit Replay(Session& session, const std::string& job, bool verify);

// Exit code for nothing left to train: the job has ended (ask), or the trial was stopped (tell).
constexpr int kNoMore = 3;

struct AskOptions {
  std::string job;
  int64_t count = 1;
  double wait = 0;     // seconds
  std::string client;  // "": this host
};
// Prints a line for each trial: TRIAL ATTEMPT FROM TO, then NAME=VALUE of each active hyperparameter,
// separated by single blanks. Values with characters special to a shell are quoted. Prints nothing if there
// is no trial now.
Exit Ask(Session& session, const AskOptions& options);

struct TellOptions {
  std::string job;
  int64_t trial = 0;
  int64_t attempt = 0;
  std::vector<std::string> metrics;  // NAME=VALUE
  int64_t resource = 0;              // level of the metrics; 0: not given
  bool failed = false;
  std::string reason;
};
Exit Tell(Session& session, const TellOptions& options);
Exit Complete(Session& session, const TellOptions& options);

// Shows lost workers and those that left only with `all`.
Exit ListWorkers(Session& session, bool all);

struct WorkerSchedulingOptions {
  std::string worker;
  std::string reason;
  bool wait = true;  // drain: wait until the worker holds nothing
};

// Gives the worker no new trials; its running ones continue.
Exit Cordon(Session& session, const WorkerSchedulingOptions& options);
// Cordons the worker; its trials are checkpointed and handed back.
Exit Drain(Session& session, const WorkerSchedulingOptions& options);
// Gives the worker trials again; also ends a quarantine.
Exit Uncordon(Session& session, const WorkerSchedulingOptions& options);

struct BackupOptions {
  std::string file;
  bool force = false;  // replaces `file`
};

// Saves a copy of the server's database as `file`, whole or not at all: it writes `file`.part, syncs it and
// renames it.
Exit Backup(Session& session, const BackupOptions& options);

struct CreateTokenOptions {
  std::string role;  // viewer, submitter, worker or admin
  std::string name;
  int64_t days = 0;                          // 0: it does not expire
  std::vector<std::string> worker_projects;  // whose jobs a worker may run; empty: all
  std::string worker_names;                  // a pattern of the workers' names; "": any
};

// Prints the secret alone to standard output, so that a file can take it; its description to standard error.
Exit CreateToken(Session& session, const CreateTokenOptions& options);
Exit ListTokens(Session& session);
Exit RevokeToken(Session& session, const std::string& id);
// Prints who the caller is for the server, and what the server is.
Exit WhoAmI(Session& session);

}  // namespace winnow::cli
