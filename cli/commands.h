#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/commands/actions.h"
#include "cli/commands/audit.h"
#include "cli/commands/contexts.h"
#include "cli/commands/import.h"
#include "cli/commands/login.h"
#include "cli/commands/pools.h"
#include "cli/commands/projects.h"
#include "cli/commands/run.h"
#include "cli/commands/sagemaker.h"
#include "cli/commands/webhooks.h"
#include "cli/completion.h"
#include "cli/session/session.h"
#include "rpc/endpoint.h"

namespace winnow::cli {

using Run = std::function<Exit(Session&)>;

// The values of all commands' flags.
struct Flags {
  EndpointFlags endpoint;
  std::string context;  // "": the current one
  double timeout = 10;
  bool no_color = false;
  std::string output = "text";
  std::string job;
  std::vector<std::string> states;
  int64_t schedule_trial = 0;
  double patience = 600;
  std::string exec;
  bool schedule = false;
  bool verbose = false;
  bool from_start = false;
  ListOptions list{50, {}, {}, "", ""};
  std::vector<std::string> job_states;
  AnnotateOptions annotate;
  ChangeOptions change;
  bool all_workers = false;
  RenderPoolOptions render_pool;
  DoctorOptions doctor;
  Run pools_run;  // the action of the word after `pools`, or none
  std::string shell;
  SubmitOptions submit;
  PlanOptions plan;
  SimulateOptions simulate;
  bool verify = false;
  BackupOptions backup;
  CompareOptions compare;
  AskOptions ask;
  TellOptions tell;
  TrialsOptions trials;
  DownloadOptions download;
  std::string source_folder;  // "": no download
  MetricsOptions metrics;
  LogsOptions logs;
  int64_t trial = 0;  // 0: not given
  bool undo = false;
  WorkerSchedulingOptions worker_scheduling;
  AuditOptions audit;
  MemberOptions member;
  QuotaOptions quota;
  Run projects_run;  // the action of the word after `projects`, or none
  DeliveriesOptions deliveries;
  std::string webhook;
  Run webhooks_run;  // the action of the word after `webhooks`, or none
  CreateTokenOptions create_token;
  std::string token;
  Run token_run;  // the action of the word after `token`
  RunOptions run;
  AddContextOptions add_context;
  std::string context_name;
  LoginOptions login;
  Run context_run;  // the action of the word after `context`
  ImportOptions imported;
  SagemakerUse sagemaker;
  Run sagemaker_run;  // the action of the word after `sagemaker`
  std::string config_program;
  std::string config_file;
};

// All commands by name, with their functions.
class Commands {
 public:
  // Defines them on `app`; both must outlive this.
  Commands(CLI::App& app, Flags& flags);

  // Passes an --output that preceded the command to the command. Returns the error; "" if none.
  std::string TakeOutput(std::string output) const;

  const Run& chosen() const { return runs_.at(app_.get_subcommands().front()->get_name()); }

  std::vector<CommandWords> words() const;

 private:
  // kList: also JSON, one line per element; kTable: CSV too
  enum class Formats { kTextJson, kList, kTable, kNone };

  CLI::App* Add(const std::string& name, const std::string& help, Formats formats, Run run);
  void Job(CLI::App* command, std::string* job);
  CLI::Option* Trial(CLI::App* command, int64_t* trial);
  void Tags(CLI::App* command, const std::string& flag, std::vector<std::string>* tags,
            const std::string& help);
  CLI::App* AddTell(const std::string& name, const std::string& help,
                    Run run);  // JOB TRIAL ATTEMPT, and metrics
  CLI::Option* File(CLI::App* command, std::string* file, std::string* name);

  void DefineJobs();
  void DefineChanges();
  static CLI::App* Limits(CLI::App* command, const std::function<v1::ChangedLimits*()>& limits);
  void DefineSearch();
  void DefineAsks();
  void DefineBackup();
  void DefineTokens();
  void DefineProjects();
  void DefineAudit();
  void DefineWebhooks();
  void DefineCompletion();
  void DefineRun();
  void DefineContexts();
  void DefineLogin();
  void DefineImport();
  void DefineSagemaker();

  CLI::App& app_;
  Flags& flags_;
  std::map<std::string, Run> runs_;
  std::map<std::string, CLI::Validator> formats_;  // validators of --output, for commands that have it
};

}  // namespace winnow::cli
