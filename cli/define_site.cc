// The commands of those who run a server for others.

#include <cctype>
#include <string>
#include <utility>

#include "cli/commands.h"
#include "cli/validators.h"

namespace winnow::cli {
namespace {

constexpr int64_t kMostDays = 36'500;
constexpr size_t kLongestName = 128;
constexpr size_t kLongestId = 64;

}  // namespace

void Commands::DefineBackup() {
  CLI::App* backup =
      Add("backup", "Save a copy of the server's database while the server runs", Formats::kTextJson,
          [this](Session& session) { return Backup(session, flags_.backup); });
  backup->add_option("FILE", flags_.backup.file, "where to save it; written whole or not at all")
      ->required()
      ->check(NotEmpty(4096))
      ->option_text(" ");
  backup->add_flag("--force", flags_.backup.force, "replace FILE if it exists");
}

void Commands::DefineTokens() {
  Flags& f = flags_;
  Add("whoami", "Show who you are for the server, and whether it is read-only", Formats::kTextJson,
      [](Session& session) { return WhoAmI(session); });
  CLI::App* token = Add("token", "Create, list and revoke access tokens", Formats::kTextJson,
                        [&f](Session& session) { return f.token_run(session); });
  token->require_subcommand(1);

  CLI::App* create = token->add_subcommand("create", "Create a token; it is printed once and never again");
  create->fallthrough();
  create->add_option("--role", f.create_token.role, "viewer, submitter, worker or admin")
      ->required()
      ->check(WordOf({"viewer", "submitter", "worker", "admin"}))
      ->option_text("ROLE REQUIRED");
  create
      ->add_option("--name", f.create_token.name,
                   "who or what uses it, shown in lists and as the owner of jobs")
      ->check(NotEmpty(kLongestName))
      ->option_text("NAME");
  create->add_option("--days", f.create_token.days, "days until it expires (default: never)")
      ->check(Whole(1, kMostDays))
      ->option_text("N");
  create
      ->add_option(
          "--worker-project", f.create_token.worker_projects,
          "for role worker: run only jobs of this project (\"default\": of the default project); may be "
          "given again")
      ->allow_extra_args(false)
      ->check(NotEmpty(kLongestName))
      ->option_text("PROJECT");
  create
      ->add_option(
          "--worker-names", f.create_token.worker_names,
          "for role worker: pattern of the names under which workers may register, such as \"gpu-*\"")
      ->check(NotEmpty(kLongestName))
      ->option_text("PATTERN");
  create->callback(
      [&f] { f.token_run = [&f](Session& session) { return CreateToken(session, f.create_token); }; });

  CLI::App* list = token->add_subcommand("list", "List tokens, without their secrets");
  list->fallthrough();
  list->callback([&f] { f.token_run = [](Session& session) { return ListTokens(session); }; });

  CLI::App* revoke = token->add_subcommand("revoke", "Revoke a token: it is refused from now on");
  revoke->fallthrough();
  revoke->add_option("TOKEN", f.token, "its id, as listed")
      ->required()
      ->check(NotEmpty(kLongestId))
      ->option_text(" ");
  revoke->callback([&f] { f.token_run = [&f](Session& session) { return RevokeToken(session, f.token); }; });
}

void Commands::DefineProjects() {
  Flags& f = flags_;
  CLI::App* projects =
      Add("projects", "List your projects and their members, or change them", Formats::kList,
          [&f](Session& session) {
            return f.projects_run != nullptr ? f.projects_run(session) : ListProjects(session);
          });
  const auto add = [&](const std::string& name, const std::string& help, Run run) {
    CLI::App* command = projects->add_subcommand(name, help);
    command->fallthrough();
    command->callback([&f, run = std::move(run)] { f.projects_run = run; });
    return command;
  };
  const auto named = [&f](CLI::App* command) {
    command->add_option("PROJECT", f.member.project, "its name")
        ->required()
        ->check(NotEmpty(kLongestName))
        ->option_text(" ");
    return command;
  };
  const auto with_person = [&](CLI::App* command) {
    named(command)
        ->add_option("PERSON", f.member.person, "the name of their tokens")
        ->required()
        ->check(NotEmpty(kLongestName))
        ->option_text(" ");
    return command;
  };
  add("list", "List the projects that you are a member of, and their members",
      [](Session& session) { return ListProjects(session); });
  named(add("create", "Create a project: only its members see its jobs",
            [&f](Session& session) { return CreateProject(session, f.member.project); }));
  named(add("show", "Show what a project and its members have, may have and have used",
            [&f](Session& session) { return ShowProject(session, f.member.project); }));
  CLI::App* set =
      named(add("set", "Change the quota, weight or class of a project, or a person's quota in it",
                [&f](Session& session) { return SetProject(session, f.member.project, f.quota); }));
  set->add_option("--person", f.quota.person, "change this person's quota in the project")
      ->check(NotEmpty(kLongestName))
      ->option_text("PERSON");
  set->add_option("--max-slots", f.quota.slots, "slots that running trials may hold at once; 0: no limit")
      ->type_name("N");
  set->add_option("--max-gpus", f.quota.gpus, "GPUs that running trials may hold at once; 0: no limit")
      ->type_name("N");
  set->add_option("--max-node-hours", f.quota.node_hours,
                  "hours of ranks in a calendar month (UTC); 0: no limit")
      ->type_name("HOURS");
  set->add_option("--max-running-jobs", f.quota.running_jobs,
                  "jobs whose trials may run at once; 0: no limit")
      ->type_name("N");
  set->add_option(
         "--max-storage-gib", f.quota.storage_gib,
         "GiB of checkpoints, model files and sources on the server; no trial starts from there on; 0: no "
         "limit")
      ->type_name("GIB");
  set->add_option("--weight", f.quota.weight,
                  "free slots go to projects in proportion to their weights, over time")
      ->type_name("WEIGHT");
  set->add_option("--class", f.quota.job_class,
                  "0 to 9: jobs of a higher class come first, and may preempt trials of lower ones; only if "
                  "the server was started with --preemption")
      ->type_name("CLASS");
  named(add("delete", "Delete a project that has no jobs",
            [&f](Session& session) { return DeleteProject(session, f.member.project); }));
  with_person(add("add-member", "Add a member, or change whether they lead the project",
                  [&f](Session& session) { return AddMember(session, f.member); }))
      ->add_flag("--leads", f.member.leads, "they change every job of the project, and its members");
  with_person(add("remove-member", "Remove a member: from now on they do not see the project's jobs",
                  [&f](Session& session) { return RemoveMember(session, f.member); }));
}

void Commands::DefineAudit() {
  Flags& f = flags_;
  CLI::App* audit = Add("audit", "Show who changed what: the audit log, the newest entries first",
                        Formats::kList, [&f](Session& session) { return ShowAudit(session, f.audit); });
  audit->add_option("--person", f.audit.person, "only calls with tokens of this name")
      ->check(NotEmpty(kLongestName))
      ->option_text("NAME");
  audit->add_option("--job", f.audit.job, "only entries of this job, also of one that was deleted")
      ->check(NotEmpty(256))
      ->option_text("JOB");
  audit->add_option("--method", f.audit.method, "only calls of this method, such as StopTuningJob")
      ->check(NotEmpty(128))
      ->option_text("METHOD");
  audit
      ->add_option("--since", f.audit.since,
                   "only entries of this time or later: a day (2026-11-22), a time (2026-11-22T08:00:00Z) "
                   "or an age (30m, 12h, 7d)")
      ->check(NotEmpty(64))
      ->option_text("TIME");
  audit->add_option("--limit", f.audit.limit, "at most this many, the newest (default 100)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
}

void Commands::DefineWebhooks() {
  Flags& f = flags_;
  CLI::App* webhooks =
      Add("webhooks", "List the server's webhooks, and what was delivered to them", Formats::kList,
          [&f](Session& session) {
            return f.webhooks_run != nullptr ? f.webhooks_run(session) : ListWebhooks(session);
          });
  CLI::App* deliveries =
      webhooks->add_subcommand("deliveries", "List what was or is to be delivered, the newest first");
  deliveries->fallthrough();
  deliveries->add_option("--webhook", f.deliveries.webhook, "only for this webhook")
      ->check(NotEmpty(128))
      ->option_text("NAME");
  deliveries->add_option("--job", f.deliveries.job, "only events of this job")
      ->check(NotEmpty(256))
      ->option_text("JOB");
  deliveries
      ->add_option_function<std::string>(
          "--state",
          [&f](const std::string& state) {
            std::string name = state;
            for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
            v1::Delivery::State_Parse(name, &f.deliveries.state);
          },
          "only deliveries that are waiting, delivered or given_up")
      ->check(WordOf({"waiting", "delivered", "given_up"}))
      ->option_text("STATE");
  deliveries->add_option("--limit", f.deliveries.limit, "at most this many, the newest (default 100)")
      ->check(Whole(1, INT64_MAX))
      ->option_text("N");
  deliveries->callback(
      [&f] { f.webhooks_run = [&f](Session& session) { return ListDeliveries(session, f.deliveries); }; });
  CLI::App* test = webhooks->add_subcommand("test", "Have the server send the event TEST to a webhook");
  test->fallthrough();
  test->add_option("WEBHOOK", f.webhook, "its name, as listed")
      ->required()
      ->check(NotEmpty(128))
      ->option_text(" ");
  test->callback(
      [&f] { f.webhooks_run = [&f](Session& session) { return TestWebhook(session, f.webhook); }; });
}

}  // namespace winnow::cli
