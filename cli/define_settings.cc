// Commands of servers under names, of what is in force, and of jobs without a job file.

#include <climits>
#include <utility>

#include "cli/commands.h"
#include "cli/validators.h"

namespace winnow::cli {

void Commands::DefineRun() {
  Flags& f = flags_;
  CLI::App* run = Add("run",
                      "Tune a program without a job file: winnow run --metric loss -- python3 train.py --lr "
                      "1e-4:0.1:log --layers 1:6 --optimizer choice:adam,sgd",
                      Formats::kTextJson, [&f](Session& session) { return RunProgram(session, f.run); });
  run->add_option("PROGRAM", f.run.words,
                  "after --: the program and its arguments; an argument is tuned if it is a range MIN:MAX, "
                  "MIN:MAX:log, MIN:MAX:real (not only integers) or choice:A,B,C")
      ->required()
      ->expected(1, INT_MAX)
      ->option_text("...");
  run->add_option("--metric", f.run.metric,
                  "metric that the program prints, as loss=0.5, loss: 0.5 or JSON; required")
      ->required()
      ->check(NotEmpty(256))
      ->option_text("NAME");
  run->add_flag("--maximize", f.run.maximize, "higher values of the metric are better, not lower ones");
  run->add_option("--trials", f.run.trials, "number of trials (default 20)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  run->add_option("--parallel", f.run.parallel, "trials at a time (default: as many as workers have slots)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  run->add_option("--max-resource", f.run.max_resource,
                  "epochs or rounds of a full training; weak trials are then stopped earlier, by Hyperband "
                  "(default: every trial runs to its end)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  run->add_flag("--resumes", f.run.resumes,
                "the program goes on from its checkpoint, see the trainer contract");
  run->add_flag("--source", f.run.source, "send the code in this directory to the workers");
  run->add_option("--metric-regex", f.run.metric_regex,
                  "expression with one group that finds the metric in a line")
      ->check(NotEmpty(4096))
      ->option_text("REGEX");
  run->add_option("--resource-regex", f.run.resource_regex,
                  "expression with one group that finds the epoch in a line (default: lines with the metric "
                  "are counted)")
      ->check(NotEmpty(4096))
      ->option_text("REGEX");
  run->add_option("--name", f.run.name, "name of the job (default: the program's)")
      ->check(NotEmpty(63))
      ->option_text("NAME");
  run->add_option(
         "--project", f.run.project,
         "the project that the job will belong to (default: WINNOW_PROJECT, else the default project)")
      ->envname("WINNOW_PROJECT")
      ->check(NotEmpty(128))
      ->option_text("PROJECT");
  run->add_flag("--print", f.run.print, "print the job file and start nothing");
  run->add_flag("--detach", f.run.detach, "return at once instead of following the job");
}

void Commands::DefineContexts() {
  Flags& f = flags_;
  CLI::App* context = Add("context", "Save servers with their credentials under names, and choose one",
                          Formats::kTextJson, [&f](Session& session) { return f.context_run(session); });
  context->require_subcommand(1);
  const auto add = [&](const std::string& name, const std::string& help, Run run) {
    CLI::App* command = context->add_subcommand(name, help);
    command->fallthrough();
    command->callback([&f, run = std::move(run)] { f.context_run = run; });
    return command;
  };
  const auto named = [&f](CLI::App* command) {
    return command->add_option("NAME", f.context_name, "name of a context")
        ->check(NotEmpty(63))
        ->option_text(" ");
  };
  CLI::App* create =
      add("add", "Save the server given by --server, with the --tls-... and --token-file flags given",
          [&f](Session& session) {
            f.add_context.name = f.context_name;
            f.add_context.endpoint = f.endpoint;
            return AddContext(session, f.add_context);
          });
  named(create)->required();
  create
      ->add_option("--http", f.add_context.http,
                   "the server's --http address, for the Python client and winnow login")
      ->check(NotEmpty(256))
      ->option_text("ADDRESS");
  create->add_flag("--token-stdin", f.add_context.token_from_input,
                   "save the token itself, read from the first line of standard input");
  create->add_flag("--force", f.add_context.force, "replace a context of this name");
  named(add("use", "Make a context the current one", [&f](Session& session) {
    return UseContext(session, f.context_name);
  }))->required();
  add("list", "List contexts; * marks the current one",
      [](Session& session) { return ListContexts(session); });
  named(add("show", "Show a context without its token (default: the current one)",
            [&f](Session& session) { return ShowContext(session, f.context_name); }));
  named(add("remove", "Remove a context", [&f](Session& session) {
    return RemoveContext(session, f.context_name);
  }))->required();

  CLI::App* config =
      Add("config", "Show the server and credentials in use, and where each setting comes from",
          Formats::kTextJson, [&f](Session& session) -> Exit {
            if (f.config_program.empty()) return ShowConfig(session);
            return ShowProgramConfig(session, f.config_program, f.config_file);
          });
  config->add_option("PROGRAM", f.config_program, "server or worker: the settings of that program instead")
      ->check(WordOf({"server", "worker"}))
      ->option_text(" ");
  config->add_option("FILE", f.config_file, "its configuration file")
      ->check(NotEmpty(4096))
      ->option_text(" ");
}

void Commands::DefineLogin() {
  Flags& f = flags_;
  const auto reached = [&f](CLI::App* command) {
    command
        ->add_option(
            "--http", f.login.http,
            "the server's --http address (default: of the context, or port 8080 of the server's host)")
        ->check(NotEmpty(256))
        ->option_text("URL");
    return command;
  };
  reached(Add("login", "Sign in with the server's OpenID Connect provider, in any browser", Formats::kNone,
              [&f](Session& session) { return Login(session, f.login); }))
      ->add_option(
          "--save-as", f.login.context,
          "name of a new context that keeps the token (default: the context in force, or the server's host)")
      ->check(NotEmpty(63))
      ->option_text("NAME");
  reached(Add("logout", "Revoke the token of winnow login, and remove it from its context", Formats::kNone,
              [&f](Session& session) { return Logout(session, f.login); }));
}

void Commands::DefineSagemaker() {
  Flags& f = flags_;
  CLI::App* sagemaker =
      Add("sagemaker", "Set up and check clients of SageMaker (the server's flag --sagemaker)",
          Formats::kTextJson, [&f](Session& session) { return f.sagemaker_run(session); });
  sagemaker->require_subcommand(1);
  const auto add = [&](const std::string& name, const std::string& help, Run run) {
    CLI::App* command = sagemaker->add_subcommand(name, help);
    command->fallthrough();
    command->callback([&f, run = std::move(run)] { f.sagemaker_run = run; });
    command
        ->add_option("--url", f.sagemaker.url,
                     "address of the server's --sagemaker, beginning with http:// or https://")
        ->check(NotEmpty(4096))
        ->capture_default_str()
        ->option_text("URL");
    command->add_option("--keys", f.sagemaker.keys, "file of the server's access keys")
        ->check(NotEmpty(4096))
        ->capture_default_str()
        ->option_text("FILE");
    command->add_option("--user", f.sagemaker.user, "name or id of a key (default: the first)")
        ->check(NotEmpty(128))
        ->option_text("NAME");
    command->add_option("--region", f.sagemaker.region, "region that clients name")
        ->check(NotEmpty(64))
        ->capture_default_str()
        ->option_text("REGION");
    return command;
  };
  add("env", "Print the variables that a shell or a notebook needs",
      [&f](Session& session) { return SagemakerEnvironment(session, f.sagemaker); })
      ->add_option("--folder", f.sagemaker.folder,
                   "also write the files that the SageMaker SDK looks for, to this folder")
      ->check(NotEmpty(4096))
      ->option_text("FOLDER");
  add("doctor",
      "Call each service as a client does, and say what works. Without --url, --keys and --user it takes the "
      "server and the key from AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY if all are set",
      [&f, sagemaker](Session& session) {
        const CLI::App* const doctor = sagemaker->get_subcommand("doctor");
        f.sagemaker.as_variables =
            doctor->count("--url") + doctor->count("--keys") + doctor->count("--user") == 0;
        return SagemakerDoctor(session, f.sagemaker);
      });
}

void Commands::DefineImport() {
  Flags& f = flags_;
  CLI::App* command = Add("import",
                          "Convert another program's file to a job file and print it; what has no equivalent "
                          "is listed on standard error",
                          Formats::kTextJson, [&f](Session& session) { return Import(session, f.imported); });
  command->add_option("PROGRAM", f.imported.program, "sagemaker, katib, wandb, ray or optuna")
      ->required()
      ->check(WordOf({"sagemaker", "katib", "wandb", "ray", "optuna"}))
      ->option_text(" ");
  command->add_option("FILE", f.imported.file, "its file, JSON or YAML (docs/imports.md)")
      ->required()
      ->check(NotEmpty(4096))
      ->option_text(" ");
  command
      ->add_option(
          "--training-jobs", f.imported.training_jobs,
          "of sagemaker: what `list-training-jobs-for-hyper-parameter-tuning-job` prints, for a warm start")
      ->check(NotEmpty(4096))
      ->option_text("FILE");
  command
      ->add_option(
          "--definition", f.imported.definition,
          "of sagemaker: which of several training job definitions, by its name (default: the first)")
      ->check(NotEmpty(256))
      ->option_text("NAME");
  command
      ->add_option("--results", f.imported.results,
                   "where their results are written (default: FILE.csv of --training-jobs)")
      ->check(NotEmpty(4096))
      ->option_text("FILE");
}

}  // namespace winnow::cli
