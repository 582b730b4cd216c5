#include "server/server_flags.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <set>
#include <system_error>

#include "store/database/database.h"

namespace winnow {
namespace {

void DeclareSignIn(CLI::App& app, OidcSettings& oidc) {
  app.add_option(
         "--oidc-issuer", oidc.issuer,
         "OpenID Connect provider with which people sign in (docs/sign-in.md); needs tokens and --http")
      ->option_text("URL");
  app.add_option("--oidc-client-id", oidc.client.id,
                 "Name under which this server is registered at the provider")
      ->option_text("ID");
  app.add_option("--oidc-client-secret-file", oidc.client.secret_file,
                 "File with the client's secret (default: a public client, without one)")
      ->option_text("FILE");
  app.add_option("--oidc-device-client-id", oidc.device.id,
                 "Another client for winnow login, for providers that want one (default: --oidc-client-id)")
      ->option_text("ID");
  app.add_option("--oidc-device-client-secret-file", oidc.device.secret_file,
                 "File with that client's secret")
      ->option_text("FILE");
  app.add_option(
         "--oidc-tls-ca", oidc.tls_ca,
         "CA certificate that signed the provider's certificate (PEM; default: the system's authorities)")
      ->option_text("FILE");
  app.add_option("--oidc-scopes", oidc.scopes, "Scopes that the provider is asked for")
      ->type_name("WORDS")
      ->capture_default_str();
  app.add_option(
         "--oidc-name-claim", oidc.name_claim,
         "Claim that becomes the name of a person's tokens; an e-mail address must be verified. A name "
         "that begins with / is a JSON pointer, here and below")
      ->type_name("CLAIM")
      ->capture_default_str();
  app.add_option("--oidc-groups-claim", oidc.groups_claim, "Claim that lists a person's groups")
      ->type_name("CLAIM")
      ->capture_default_str();
  app.add_option(
         "--oidc-role", oidc.roles,
         "Role (viewer, submitter, admin) of persons of a group; may be given again: the highest counts")
      ->allow_extra_args(false)
      ->option_text("ROLE=GROUP");
  app.add_option("--oidc-default-role", oidc.default_role,
                 "Role of persons without one by --oidc-role (default: they may not sign in)")
      ->option_text("ROLE");
  app.add_option("--oidc-domain", oidc.domains,
                 "Let in only persons with a verified e-mail address of this domain; may be given again")
      ->allow_extra_args(false)
      ->option_text("DOMAIN");
  app.add_option("--oidc-allow-group", oidc.groups, "Let in only persons of this group; may be given again")
      ->allow_extra_args(false)
      ->option_text("GROUP");
  app.add_option("--oidc-project", oidc.projects,
                 "Make persons of a group members of a project when they sign in, and no others of those who "
                 "sign in; may be given again")
      ->allow_extra_args(false)
      ->option_text("PROJECT=GROUP");
  app.add_option("--oidc-person", oidc.persons,
                 "Give this name to the person with this subject (claim sub), also if tokens have it; may be "
                 "given again")
      ->allow_extra_args(false)
      ->option_text("NAME=SUBJECT");
  app.add_option("--oidc-hours", oidc.hours, "Hours after which a person must sign in again")
      ->type_name("HOURS")
      ->check(CLI::Range(0.01, 8760.0))
      ->capture_default_str();
}

void DeclareArtifacts(CLI::App& app, PlaceSettings& artifacts) {
  app.add_option("--artifacts", artifacts.place,
                 "Where checkpoints, models and sources are kept: a folder, or a bucket of an S3-compatible "
                 "service, s3://BUCKET/PREFIX, which every server of a PostgreSQL database reaches (default: "
                 "STATE_DIR/artifacts)")
      ->option_text("PLACE");
  app.add_option("--s3-endpoint", artifacts.endpoint,
                 "URL of the service of --artifacts; the bucket is the first part of the path, or stands for "
                 "{bucket} in the host (default: AWS)")
      ->option_text("URL");
  app.add_option("--s3-region", artifacts.region,
                 "Region of the bucket (default: AWS_REGION, AWS_DEFAULT_REGION or us-east-1)")
      ->option_text("REGION");
  app.add_option("--s3-credentials", artifacts.credentials_file,
                 "File of the credentials for the bucket, as ~/.aws/credentials, that nobody else may read; "
                 "its section is AWS_PROFILE or default (default: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
                 "and AWS_SESSION_TOKEN)")
      ->option_text("FILE");
  app.add_option("--s3-ca", artifacts.tls_ca,
                 "CA certificate that signed the service's certificate (PEM; default: the system's "
                 "authorities)")
      ->option_text("FILE");
}

}  // namespace

void Declare(CLI::App& app, ServerFlags& flags) {
  app.set_version_flag("--version", "winnow-server " WINNOW_VERSION);
  app.add_option("--db", flags.db,
                 "Database: a file, created if missing, or the address of a PostgreSQL database, "
                 "postgresql://USER@HOST/NAME (docs/postgresql.md)")
      ->type_name("DATABASE")
      ->capture_default_str();
  app.add_option(
         "--listen", flags.listen,
         "Address for gRPC; port 0: chosen by the system. Beyond loopback, TLS and tokens are required")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--advertise", flags.advertise,
                 "Address at which a standby of the same PostgreSQL database reaches this server (default: "
                 "that of --listen, with this machine's name if that is every address)")
      ->option_text("HOST:PORT");
  app.add_option("--http", flags.http,
                 "Address for the web page and JSON over HTTP; \"off\": none. Beyond loopback as --listen "
                 "(default: 127.0.0.1:8080, if it is free)")
      ->option_text("HOST:PORT");
  app.add_option("--http-port-file", flags.http_port_file,
                 "File to which the port of --http is written once the server listens")
      ->option_text("FILE");
  app.add_option("--http-url", flags.oidc.own_url,
                 "URL by which browsers reach --http, where the provider sends them back to (default: its "
                 "address)")
      ->option_text("URL");
  app.add_option(
         "--sagemaker", flags.sagemaker,
         "Address for clients of SageMaker and S3, such as boto3 (docs/sagemaker.md); \"off\": none. Beyond "
         "loopback TLS is required")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  app.add_option("--sagemaker-port-file", flags.sagemaker_port_file,
                 "File to which the port of --sagemaker is written once the server listens")
      ->option_text("FILE");
  app.add_option(
         "--sagemaker-keys", flags.sagemaker_keys,
         "JSON file of the access keys of --sagemaker (default: STATE_DIR/sagemaker/keys.json, which is "
         "created with one key)")
      ->option_text("FILE");
  app.add_option("--sagemaker-images", flags.sagemaker_images,
                 "JSON file that maps further image names of --sagemaker to an interpreter or a container")
      ->option_text("FILE");
  app.add_option("--sagemaker-url", flags.sagemaker_url,
                 "URL by which workers reach --sagemaker (default: its address)")
      ->option_text("URL");
  app.add_option("--tls-cert", flags.tls.cert,
                 "Certificate of this server (PEM); turns on TLS and requires tokens")
      ->option_text("FILE");
  app.add_option("--tls-key", flags.tls.key, "Private key of the certificate (PEM)")->option_text("FILE");
  app.add_option("--tls-client-ca", flags.tls.client_ca,
                 "CA certificate that signed clients' certificates (PEM); clients then need one")
      ->option_text("FILE");
  app.add_option("--leader-ca", flags.leader_ca,
                 "CA certificate that signed the certificates of the other servers of the same PostgreSQL "
                 "database (PEM; default: an authority of the system)")
      ->option_text("FILE");
  DeclareSignIn(app, flags.oidc);
  app.add_option(
         "--rank-tls", flags.rank_tls,
         "Whether the ranks of a trial talk TLS with each other, with certificates that the server makes for "
         "each attempt: auto (between hosts, if the server has TLS), always (also within a host) or never "
         "(default: auto)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->option_text("WHEN");
  app.add_flag("--require-tokens", flags.require_tokens,
               "Require tokens without TLS too, except on the socket STATE_DIR/server.sock");
  app.add_option("--rate-limit", flags.rate_limit,
                 "Maximum number of calls per second of each caller; 0: no limit")
      ->type_name("CALLS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--audit-days", flags.audit_days,
                 "Remove entries of the audit log (winnow audit) that are older than this; 0: never")
      ->type_name("DAYS")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app.add_option("--keep-jobs-days", flags.keep_jobs_days,
                 "Delete jobs that ended longer ago than this, with all that is recorded of them; 0: never")
      ->type_name("DAYS")
      ->check(CLI::Range(0, 36'500))
      ->capture_default_str();
  app.add_option(
         "--keep-jobs-number", flags.keep_jobs_number,
         "Keep this many ended jobs of each project, those that ended last, and delete the others; 0: keep "
         "all")
      ->type_name("N")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option(
         "--keep-jobs-gib", flags.keep_jobs_gib,
         "Delete ended jobs, those that ended first before the others, while the checkpoints, models and "
         "sources of all jobs in the artifact store take more than this; 0: never")
      ->type_name("GIB")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_flag("--preemption", flags.preemption,
               "Jobs of projects of a higher class (winnow projects set --class) may preempt trials of lower "
               "classes, which go on later from their checkpoints");
  app.add_option("--fair-share-half-life", flags.fair_share_days,
                 "What a project used this long ago counts half when projects share free slots")
      ->type_name("DAYS")
      ->check(CLI::Range(0.01, 3650.0))
      ->capture_default_str();
  app.add_option("--local-workers", flags.local_workers, "Workers to start on this machine; 0: none")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option("--slots", flags.slots,
                 "Concurrent trials (ranks) of each local worker (default: number of CPUs)")
      ->check(CLI::Range(1, 1024));
  app.add_option(
         "--gpus", flags.gpu_text,
         "GPUs for the local workers, divided among them: indices or UUIDs with commas between them, or "
         "none (default: CUDA_VISIBLE_DEVICES, or those that nvidia-smi, /dev or rocm-smi list)")
      ->option_text("LIST");
  app.add_option("--gpu-health-command", flags.gpu_health_command,
                 "Shell command by which local workers check each GPU, see winnow-worker (default: none)")
      ->type_name("COMMAND");
  app.add_option("--warm-trainers", flags.warm_trainers,
                 "Maximum number of programs of paused trials that wait on a local worker for their next "
                 "part; 0: none "
                 "(default: as "
                 "of winnow-worker)")
      ->check(CLI::Range(0, 10'000))
      ->type_name("N");
  app.add_option("--run-as", flags.run_as,
                 "User for trainers of local workers: USER[:GROUP], or a range FIRST-LAST[:GROUP] of unused "
                 "user ids, "
                 "one per trial (default: the server's own)")
      ->option_text("USERS");
  app.add_option("--declare-workers", flags.declared,
                 "Workers that may join later, so that jobs that need them are accepted: "
                 "\"8 x slots=4,cpus=16,memory_gib=64,gpus=2\"; may be given again")
      ->allow_extra_args(false)
      ->option_text("TEXT");
  app.add_option("--pools", flags.pools_file,
                 "JSON file of pools: engines, such as Slurm, that are asked for workers as trials need them "
                 "(docs/pools.md; default: none)")
      ->option_text("FILE");
  app.add_option("--webhooks", flags.webhooks_file,
                 "JSON file of webhooks: URLs to which the server sends events of jobs, workers and pools "
                 "(docs/webhooks.md; default: none)")
      ->option_text("FILE");
  app.add_option("--lease", flags.lease_seconds, "A worker that is silent for this long is presumed dead")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  app.add_option(
         "--state-dir", flags.state_dir,
         "Directory for local workers, checkpoints and models (default: the database's path, or its name in "
         "PostgreSQL, and \".d\")")
      ->type_name("DIR");
  app.add_option("--port-file", flags.port_file,
                 "File to which the port of --listen is written once the server listens")
      ->type_name("FILE");
  DeclareArtifacts(app, flags.artifacts);
  app.add_option("--artifact-quota-gib", flags.artifact_quota_gib,
                 "Maximum space for checkpoints and models in --artifacts; 0: none are kept")
      ->type_name("GIB")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app.add_option("--read-dir", flags.read_dirs,
                 "Directory in which the server may read files that jobs name (warm start; checks at "
                 "submission); may be "
                 "given again (default: all files if tokens are not required, else none)")
      ->allow_extra_args(false)
      ->option_text("DIR");
  app.add_option("--secrets-dir", flags.secrets_dir,
                 "Directory of secrets for local workers, see winnow-worker --secrets-dir (default: none)")
      ->option_text("DIR");
  app.add_flag("--accept-log-damage", flags.accept_log_damage,
               "Start although the database's log is damaged; records after the damage are lost");
  app.add_flag("--accept-missing-artifacts", flags.accept_missing_artifacts,
               "Start although the artifact store has nothing of what the database lists, and forget it: "
               "checkpoints, models and sources");
  app.add_flag("--check", flags.check,
               "Verify the database, also beside a running server, and exit: 0 if it is sound, else 1");
  app.add_option("--restore", flags.restore,
                 "Replace the database by this backup, set newer checkpoints aside, and exit; the replaced "
                 "database is kept under another name")
      ->option_text("FILE");
  app.add_option(
         "--copy-to", flags.copy_to,
         "Copy all that is in the database to a new one, a file or an address of PostgreSQL, verify the "
         "copy and exit")
      ->option_text("DATABASE");
  app.add_option(
         "--archive", flags.archive,
         "Copy these jobs, which have ended, and nothing else to the new file --copy-to, also beside a "
         "running server, verify the copy and exit; open it with --read-only")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->option_text("JOB,...");
  app.add_flag("--read-only", flags.read_only,
               "Show what is in the file --db, such as an archive or a backup, and change nothing");
  app.add_option("--copy-artifacts", flags.copy_artifacts,
                 "Copy all checkpoints, models and sources from --artifacts to this folder or bucket, verify "
                 "the copy and exit; may be given again after an interruption")
      ->option_text("PLACE");
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error (default: info)")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->option_text("LEVEL");
}

std::string CheckTogether(const CLI::App& app, const ServerFlags& flags) {
  // The same database may have two names, such as that of a link.
  std::error_code not_there;
  if (!flags.copy_to.empty() &&
      (flags.copy_to == flags.db || std::filesystem::equivalent(flags.db, flags.copy_to, not_there)))
    return "--copy-to: \"" + flags.copy_to + "\" is the database itself; expected the name of a new one";
  if (!flags.archive.empty() && flags.copy_to.empty())
    return "--archive: --copy-to is missing; expected the name of a new file with it";
  if (!flags.archive.empty() && IsPostgres(flags.copy_to))
    return "--copy-to: an archive is a file; expected the name of a new one with --archive";
  if (!flags.read_only) return "";
  if (IsPostgres(flags.db)) return "--db: \"" + flags.db + "\" is no file; expected one with --read-only";
  static const std::set<std::string> kAllowed = {
      "--read-only",      "--db",        "--listen",  "--port-file",     "--http",
      "--http-port-file", "--tls-cert",  "--tls-key", "--tls-client-ca", "--require-tokens",
      "--rate-limit",     "--log-level", "--config",  "--show-config"};
  for (const CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    if (option->count() == 0 || kAllowed.contains(option->get_name())) continue;
    return option->get_name() + ": has no meaning with --read-only, which changes nothing; leave it out";
  }
  return "";
}

std::string StateDir(const ServerFlags& flags) {
  if (!flags.state_dir.empty()) return flags.state_dir;
  return (IsPostgres(flags.db) ? PostgresDatabaseName(flags.db) : flags.db) + ".d";
}

absl::StatusOr<std::unique_ptr<BlobPlace>> OpenPlaceOfArtifacts(const ServerFlags& flags) {
  if (flags.artifact_quota_gib == 0) return nullptr;
  return OpenPlace(flags.artifacts, std::filesystem::absolute(StateDir(flags)) / "artifacts");
}

}  // namespace winnow
