// winnow-server: accepts tuning jobs, decides what to try, and tells workers what to run.

#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/standard_streams.h"
#include "base/status_text.h"
#include "flags/command_line.h"
#include "flags/help_formatter.h"
#include "flags/settings.h"
#include "server/engine/coordinator.h"
#include "server/engine/metrics.h"
#include "server/grpc/grpc_server.h"
#include "server/grpc/tokens.h"
#include "server/host/archive.h"
#include "server/host/artifact_store.h"
#include "server/host/blobs/open_place.h"
#include "server/host/declared_workers.h"
#include "server/host/endpoint_state.h"
#include "server/host/last_resort.h"
#include "server/host/local_workers.h"
#include "server/host/own_files.h"
#include "server/host/rank_authority.h"
#include "server/http/http_server.h"
#include "server/oidc/settings.h"
#include "server/oidc/sign_ins.h"
#include "server/pools/pool_checks.h"
#include "server/pools/pool_keeper.h"
#include "server/pools/pool_kinds.h"
#include "server/reads/reads.h"
#include "server/sagemaker/sagemaker_app.h"
#include "server/server_flags.h"
#include "server/show.h"
#include "server/standby.h"
#include "server/stopping.h"
#include "server/tasks.h"
#include "server/webhooks/sender.h"
#include "server/webhooks/webhooks_file.h"
#include "store/database/room.h"
#include "store/database/wal_check.h"
#include "store/leadership.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Trials of local workers get their own grace period, and the worker a moment more.
constexpr std::chrono::seconds kWorkersLeave{60};
constexpr char kHttpDefault[] = "127.0.0.1:8080";
constexpr char kOff[] = "off";

bool TokensRequired(const ServerFlags& flags) { return flags.require_tokens || flags.tls.used(); }

// Without tokens everyone is an admin whose jobs may read any file; with tokens only what the site names.
absl::StatusOr<ReadableFolders> FilesOfJobs(const ServerFlags& flags) {
  absl::StatusOr<ReadableFolders> files = flags.read_dirs.empty() && !TokensRequired(flags)
                                              ? ReadableFolders::Everything()
                                              : ReadableFolders::Only(flags.read_dirs);
  if (files.ok() && !IsPostgres(flags.db)) files->Keep(flags.db);
  return files;
}

GrpcServerOptions ServerOptions(const ServerFlags& flags) {
  GrpcServerOptions options;
  options.address = flags.listen;
  options.tls = flags.tls;
  options.auth.tokens_required = TokensRequired(flags);
  options.auth.calls_per_second = flags.rate_limit;
  options.training = flags.local_workers > 0 ? Training::kHere : Training::kElsewhere;
  options.endpoint = EndpointFolder(fs::absolute(StateDir(flags)));
  if (options.auth.tokens_required) options.socket = fs::absolute(StateDir(flags)) / "server.sock";
  return options;
}

std::string HostOf(const std::string& address) { return address.substr(0, address.rfind(':')); }

// All addresses of this machine: one can listen at it, but nobody can reach the machine by it.
bool IsAnyHost(const std::string& host) { return host == "0.0.0.0" || host == "[::]"; }

// A server without TLS has told the credentials to everyone on the way.
RankTls WhenRanksEncrypt(const ServerFlags& flags) {
  if (flags.rank_tls == "always") return RankTls::kAlways;
  return flags.rank_tls == "auto" && flags.tls.used() ? RankTls::kAcrossHosts : RankTls::kNever;
}

// Includes --declare-workers and the local workers, so that jobs can be submitted before they register.
absl::StatusOr<std::vector<WorkerRoom>> Declared(const ServerFlags& flags) {
  std::vector<WorkerRoom> all;
  for (const std::string& text : flags.declared) {
    absl::StatusOr<std::vector<WorkerRoom>> some = ReadDeclaredWorkers(text);
    if (!some.ok()) return some.status();
    all.insert(all.end(), some->begin(), some->end());
  }
  for (int i = 1; i <= flags.local_workers; ++i) {
    WorkerRoom& room = all.emplace_back(WorkerRoom{LocalWorkerName(i), flags.slots, ""});
    for (const GpuDevice& gpu : GpusOfWorker(flags.gpus, i, flags.local_workers))
      room.gpus.push_back({gpu.id});
  }
  return all;
}

// The names of all allocations of this server begin with this.
std::string PoolPrefix(const std::string& identity) { return "winnow-" + identity.substr(0, 8); }

absl::StatusOr<std::vector<DeclaredPool>> ReadPools(const ServerFlags& flags, const std::string& identity) {
  if (flags.pools_file.empty()) return std::vector<DeclaredPool>();
  return ReadPoolsFile(flags.pools_file, fs::absolute(StateDir(flags)) / "pools", PoolPrefix(identity),
                       PoolKinds());
}

absl::StatusOr<std::vector<DeclaredWebhook>> ReadWebhooks(const ServerFlags& flags) {
  if (flags.webhooks_file.empty()) return std::vector<DeclaredWebhook>();
  return ReadWebhooksFile(flags.webhooks_file);
}

// Null without pools. `server` is set before the result starts.
std::unique_ptr<PoolKeeper> MakePools(const ServerFlags& flags, std::vector<DeclaredPool> pools,
                                      const std::string& identity, Coordinator& coordinator,
                                      GrpcServer*& server, std::shared_ptr<PoolStandings> standings) {
  if (pools.empty()) return nullptr;
  PoolKeeperOptions options;
  options.pools = std::move(pools);
  options.prefix = PoolPrefix(identity);
  options.standings = std::move(standings);
  options.put_token = [&server](const TokenRow& token) { server->PutToken(token); };
  if (TokensRequired(flags)) {
    options.make_token = [](const std::string& allocation) -> absl::StatusOr<PoolToken> {
      absl::StatusOr<MadeToken> made = MakeAllocationToken(allocation);
      if (!made.ok()) return made.status();
      return PoolToken{std::move(made->row), std::move(made->secret)};
    };
  }
  return std::make_unique<PoolKeeper>(coordinator, std::move(options));
}

// Reads the settings of signing in. Returns the error, or "".
std::string ReadSignIn(ServerFlags& flags) {
  OidcSettings& oidc = flags.oidc;
  while (oidc.own_url.ends_with('/')) oidc.own_url.pop_back();
  if (!oidc.own_url.empty()) {
    if (const absl::Status url = CheckOidcUrl(oidc.own_url); !url.ok())
      return "--http-url: " + MessageOf(url);
  }
  if (const absl::Status read = ReadOidcSettings(oidc); !read.ok()) return MessageOf(read);
  if (!oidc.used()) return "";
  if (!TokensRequired(flags))
    return "--oidc-issuer: without tokens nobody needs to sign in; expected --require-tokens or --tls-cert";
  if (flags.http.empty() || flags.http == kOff)
    return "--oidc-issuer: browsers come back to the web page; expected its address: --http HOST:PORT";
  if (oidc.own_url.empty() && IsAnyHost(HostOf(flags.http))) {
    return fmt::format("--http-url is missing: {} is no address by which browsers reach this server",
                       flags.http);
  }
  return "";
}

// Checks what the parser does not. Returns the error, or "".
std::string Check(const ServerFlags& flags) {
  if (flags.db.empty()) return "--db: \"\" is not a name; expected a file";
  if (flags.db == ":memory:") return "--db: \":memory:\" would not be saved; expected a file";
  for (const auto& [flag, name] : {std::pair("--db", flags.db), std::pair("--copy-to", flags.copy_to)}) {
    const size_t scheme = name.find("://");
    if (scheme != std::string::npos && name.find('/') > scheme && !IsPostgres(name))
      return fmt::format("{}: {}:// is no database that is supported; expected a file or postgresql://…",
                         flag, name.substr(0, scheme));
    if (!IsPostgres(name)) continue;
    const absl::Status status = CheckPostgresAddress(name);
    if (!status.ok()) return fmt::format("{}: {}", flag, MessageOf(status));
  }
  if (!(flags.lease_seconds > 0)) return "--lease: expected a number of seconds from 0.1 to 86400";  // nan
  if (const auto declared = Declared(flags); !declared.ok())
    return "--declare-workers: " + MessageOf(declared.status());
  const auto pools = ReadPools(flags, std::string(8, '0'));
  if (!pools.ok()) return "--pools: " + MessageOf(pools.status());
  if (IsAnyHost(HostOf(flags.listen))) {
    if (std::string problem = PoolWithoutServer(*pools, flags.listen); !problem.empty())
      return "--pools: " + problem;
  }
  if (const auto webhooks = ReadWebhooks(flags); !webhooks.ok())
    return "--webhooks: " + MessageOf(webhooks.status());
  if (!flags.http.empty() && flags.http != kOff) {
    const bool guarded = flags.tls.used() && TokensRequired(flags);
    const absl::Status status = CheckListenAddress("--http", flags.http, guarded);
    if (!status.ok()) return MessageOf(status);
  }
  if (flags.sagemaker != kOff) {
    const absl::Status status = CheckListenAddress("--sagemaker", flags.sagemaker, flags.tls.used());
    if (!status.ok()) return MessageOf(status);
  }
  if (const absl::Status places = CheckPlaceSettings(flags.artifacts, flags.copy_artifacts); !places.ok())
    return MessageOf(places);
  if (const auto files = FilesOfJobs(flags); !files.ok()) return "--read-dir: " + MessageOf(files.status());
  if (!flags.secrets_dir.empty() && !fs::is_directory(flags.secrets_dir))
    return fmt::format("--secrets-dir: \"{}\" is not a directory", flags.secrets_dir);
  if (!(flags.rate_limit >= 0)) return "--rate-limit: expected a number of calls from 0 to 1e9";  // nan
  if (!flags.advertise.empty()) {
    if (const auto parsed = CheckListenAddress("--advertise", flags.advertise, true); !parsed.ok())
      return MessageOf(parsed);
  }
  if (!flags.leader_ca.empty() && access(flags.leader_ca.c_str(), R_OK) != 0)
    return fmt::format("--leader-ca: \"{}\": {}", flags.leader_ca, std::strerror(errno));
  return MessageOf(CheckListen(ServerOptions(flags)));
}

// Prints the error in the flags; returns the exit code.
int Misused(const std::string& problem) {
  fmt::print(stderr, "winnow-server: {}\nRun with --help for more information.\n", problem);
  return 2;
}

// Writes atomically.
absl::Status WritePort(const std::string& file, int port) {
  if (file.empty()) return absl::OkStatus();
  std::string part = file + ".part";
  std::ofstream(part, std::ios::trunc) << port << '\n';
  std::error_code error;
  fs::rename(part, file, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot write {}: {}", file, error.message()));
}

// Waits for SIGTERM and SIGINT on its own thread. REQUIRES: they were blocked before any thread was made.
class Signals {
 public:
  explicit Signals(const sigset_t& set) : thread_([this, set] { Run(set); }) {}
  ~Signals() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  void WaitForFirst() { first_.get_future().wait(); }
  bool came() const { return came_; }
  // Sets the action of a second signal.
  void OnSecond(std::function<void()> action) {
    MutexLock lock(mutex_);
    second_ = std::move(action);
  }

 private:
  void Run(sigset_t set) {
    bool first = true;
    for (int signal = 0; sigwait(&set, &signal) == 0 && signal != SIGUSR1;) {
      if (first) {
        came_ = true;
        first_.set_value();
        first = false;
        continue;
      }
      MutexLock lock(mutex_);
      if (second_) second_();
    }
  }
  std::promise<void> first_;
  std::atomic<bool> came_ = false;
  Mutex mutex_;
  std::function<void()> second_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The store in that place. Null if there is no place.
absl::StatusOr<std::unique_ptr<ArtifactStore>> OpenArtifacts(const ServerFlags& flags,
                                                             std::unique_ptr<BlobPlace> place, Store& store,
                                                             const std::string& identity) {
  if (place == nullptr) return nullptr;
  const absl::StatusOr<std::vector<BlobRow>> blobs = store.artifacts.Blobs();
  if (!blobs.ok()) return blobs.status();
  const bool has_blobs = !blobs->empty() && !flags.accept_missing_artifacts;
  // A service that is away for a while does not keep a server from leading.
  const absl::Status taken = place->TakeFor(identity, has_blobs);
  if (!taken.ok() && !absl::IsUnavailable(taken)) return taken;
  const std::string name = place->name();
  ArtifactStoreOptions options;
  options.place = std::move(place);
  std::vector<std::string> digests;
  for (const BlobRow& row : *blobs) {
    v1::BlobName& blob = options.recorded.emplace_back();
    blob.set_digest(row.digest);
    blob.set_size(row.size);
    digests.push_back(row.digest);
  }
  options.quota_bytes = static_cast<int64_t>(flags.artifact_quota_gib * (1 << 30));
  auto store_of_place = ArtifactStore::Open(std::move(options));
  // The next leader of a PostgreSQL database leads, whatever its own folder has.
  if (store_of_place.ok() && has_blobs && !IsPostgres(flags.db) &&
      (*store_of_place)->Missing(digests).size() == digests.size())
    return absl::FailedPreconditionError(MissingArtifacts(name));
  return store_of_place;
}

// Adds to the metrics of the coordinator and the gRPC server. The arguments outlive the metrics' last use.
void AddGauges(Metrics& metrics, Coordinator& coordinator, ArtifactStore* artifacts) {
  metrics.AddGauge("winnow_queue_length", "Calls that wait for their batch",
                   [&coordinator] { return static_cast<double>(coordinator.queue_length()); });
  metrics.AddGauge("winnow_database_bytes", "Size of the database with its log",
                   [file = coordinator.database_file()] {
                     double bytes = 0;
                     for (const char* part : {"", "-wal"}) {
                       std::error_code error;
                       const auto size = fs::file_size(file + part, error);
                       if (!error) bytes += static_cast<double>(size);
                     }
                     return bytes;
                   });
  if (artifacts == nullptr) return;
  metrics.AddGauge("winnow_artifact_bytes", "Size of the checkpoints and models in the artifact store",
                   [artifacts] { return static_cast<double>(artifacts->used_bytes()); });
  metrics.AddGauge("winnow_artifact_quota_bytes", "Quota of the artifact store",
                   [artifacts] { return static_cast<double>(artifacts->quota_bytes()); });
}

// Null if disabled, or if the default address is not free.
absl::StatusOr<std::unique_ptr<HttpServer>> StartHttp(const ServerFlags& flags, bool leads, GrpcServer& grpc,
                                                      HealthProbe probe, Metrics& metrics,
                                                      std::shared_ptr<SignInRoutes> sign_in) {
  if (flags.http == kOff) return nullptr;
  HttpServerOptions options;
  options.sign_in = sign_in;
  options.address = flags.http.empty() ? kHttpDefault : flags.http;
  options.tls = flags.tls;
  options.tokens_required = TokensRequired(flags);
  options.relay_key = grpc.relay_key();
  options.metrics = [&metrics](const auto& shows) { return metrics.Text(shows); };
  options.probe = std::move(probe);
  options.leads = leads;
  options.leader_signs_in = !leads && flags.oidc.used();
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(options, grpc.InProcessChannel());
  if (!server.ok()) {
    if (!flags.http.empty()) return server.status();
    spdlog::warn("no web page: {}", MessageOf(server.status()));
    return nullptr;
  }
  if (absl::Status status = WritePort(flags.http_port_file, (*server)->port()); !status.ok()) return status;
  const std::string host = options.address.substr(0, options.address.rfind(':'));
  const std::string url =
      fmt::format("{}://{}:{}", flags.tls.used() ? "https" : "http", host, (*server)->port());
  spdlog::info("the web page is at {}", url);
  if (sign_in != nullptr) sign_in->Open(url);
  return server;
}

// Null if it is off.
absl::StatusOr<std::unique_ptr<HttpServer>> StartSagemaker(const ServerFlags& flags, GrpcServer& grpc) {
  if (flags.sagemaker == kOff) return nullptr;
  SagemakerOptions options;
  options.folder = EndpointFolder(fs::absolute(flags.state_dir));
  options.tokens_required = TokensRequired(flags);
  options.relay_key = grpc.relay_key();
  options.keys_file = flags.sagemaker_keys;
  options.images_file = flags.sagemaker_images;
  options.url = flags.sagemaker_url;
  absl::StatusOr<std::unique_ptr<SagemakerApp>> app =
      SagemakerApp::Open(std::move(options), grpc.InProcessChannel());
  if (!app.ok()) return app.status();
  SagemakerApp& running = **app;
  HttpListenOptions listen = SagemakerApp::ListenOptions();
  listen.address = flags.sagemaker;
  listen.tls = flags.tls;
  absl::StatusOr<std::unique_ptr<HttpServer>> server = HttpServer::Start(std::move(listen), *std::move(app));
  if (!server.ok()) return server.status();
  const std::string host = flags.sagemaker.substr(0, flags.sagemaker.rfind(':'));
  running.SetUrl(fmt::format("{}://{}:{}", flags.tls.used() ? "https" : "http", host, (*server)->port()));
  if (absl::Status status = WritePort(flags.sagemaker_port_file, (*server)->port()); !status.ok())
    return status;
  spdlog::info("clients of SageMaker are answered at {}:{}", host, (*server)->port());
  return server;
}

[[noreturn]] void StopWithoutRecord(const absl::Status& why) {
  spdlog::critical("stopping, because nothing more can be recorded: {}", MessageOf(why));
  spdlog::shutdown();
  std::_Exit(1);  // local workers continue, and report to the next server
}

// Where other servers of the database reach this one, which listens on `port`.
std::string AddressForOthers(const ServerFlags& flags, int port) {
  if (!flags.advertise.empty()) return flags.advertise;
  std::string host = HostOf(flags.listen);
  if (IsAnyHost(host)) {
    std::array<char, HOST_NAME_MAX + 1> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) host = name.data();
  }
  return fmt::format("{}:{}", host, port);
}

StandbyOptions OptionsOfStandby(const ServerFlags& flags) {
  StandbyOptions options;
  options.database = flags.db;
  options.grpc = ServerOptions(flags);
  options.grpc.socket.clear();  // a call over it has no token that the leader could check
  options.leader_ca = flags.leader_ca;
  options.opened = [file = flags.port_file](int port) { return WritePort(file, port); };
  options.http = [flags](GrpcServer& grpc, HealthProbe probe, Metrics& metrics) {
    return StartHttp(flags, false, grpc, std::move(probe), metrics, nullptr);
  };
  return options;
}

// Waits until this server leads the PostgreSQL database. CANCELLED: it was asked to end before.
absl::StatusOr<std::unique_ptr<Leadership>> Lead(const std::string& address, Signals& signals,
                                                 Standby& standby) {
  bool waits = false;
  absl::StatusOr<std::unique_ptr<Leadership>> leadership = Leadership::Take(
      address,
      [&](const OtherLeader& leader) {
        if (!waits) spdlog::info("another winnow-server leads {}; waiting as its standby", address);
        waits = true;
        standby.See(leader);
      },
      [&] { return signals.came(); });
  if (!leadership.ok()) return leadership.status();
  spdlog::info("leads {} in epoch {}", address, (*leadership)->epoch());
  (*leadership)->Keep(StopWithoutRecord);
  return leadership;
}

ShowOptions OptionsOfShow(const ServerFlags& flags, Signals& signals) {
  ShowOptions options;
  options.file = flags.db;
  options.grpc = ServerOptions(flags);
  options.grpc.socket.clear();  // it has no folder of its own
  options.opened = [file = flags.port_file](int port) { return WritePort(file, port); };
  options.http = [flags](GrpcServer& grpc, HealthProbe probe, Metrics& metrics) {
    return StartHttp(flags, true, grpc, std::move(probe), metrics, nullptr);
  };
  options.asked_to_end = [&signals] { return signals.came(); };
  options.wait_for_end = [&signals] { signals.WaitForFirst(); };
  return options;
}

absl::Status Serve(ServerFlags flags, Signals& signals) {
  std::optional<LastResort> last_resort;  // until all that follows is destroyed
  flags.state_dir = StateDir(flags);
  absl::StatusOr<std::unique_ptr<BlobPlace>> place = OpenPlaceOfArtifacts(flags);
  if (!place.ok()) return place.status();
  if (*place != nullptr) {
    // Trials train without their bucket, and transfers wait for one that is away.
    const absl::Status usable = (*place)->Probe();
    if (!usable.ok() && !absl::IsUnavailable(usable)) return usable;
    if (!usable.ok()) spdlog::warn("artifacts: {}; the server starts without it", MessageOf(usable));
  }
  std::optional<Standby> standby;  // its reads may still end
  std::unique_ptr<Leadership> leadership;
  if (IsPostgres(flags.db)) {
    standby.emplace(OptionsOfStandby(flags));
    absl::StatusOr<std::unique_ptr<Leadership>> taken = Lead(flags.db, signals, *standby);
    standby->Close();
    if (absl::IsCancelled(taken.status())) return absl::OkStatus();
    if (!taken.ok()) return taken.status();
    leadership = *std::move(taken);
    flags.listen = standby->address();
  }
  if (absl::Status serves = CheckIsNoArchive(flags.db); !serves.ok()) return serves;
  // Destroyed last: closing a file of the database would release SQLite's locks.
  absl::StatusOr<OwnFiles> own = leadership == nullptr
                                     ? OwnFiles::Take(flags.db, fs::absolute(flags.state_dir))
                                     : OwnFiles::TakeFolder(fs::absolute(flags.state_dir));
  if (!own.ok()) return own.status();
  if (leadership == nullptr) {
    flags.db = own->database();
    const absl::Status damage = CheckLog(flags.db);
    if (!damage.ok() && !flags.accept_log_damage) return damage;
    if (!damage.ok()) spdlog::warn("started in spite of this: {}", MessageOf(damage));
  }
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(flags.db);
  if (!store.ok()) return store.status();
  absl::Status status = leadership == nullptr ? absl::OkStatus() : leadership->Guard((*store)->database());
  if (!status.ok()) return status;
  GrowLog((*store)->database());

  absl::StatusOr<std::string> identity = (*store)->Identity();
  if (!identity.ok()) return identity.status();

  const auto log = [](const std::string& line) { spdlog::info("{}", line); };
  status = PrepareStateDir(fs::absolute(flags.state_dir), *identity, log);
  if (status.ok()) status = own->MakePrivate();
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<ArtifactStore>> artifacts =
      OpenArtifacts(flags, *std::move(place), **store, *identity);
  if (!artifacts.ok()) return artifacts.status();

  Hub hub;
  Metrics metrics;
  EngineOptions options;
  options.metrics = &metrics;
  options.model_threads = SuggestionThreads::BestCount();
  options.lease_us = static_cast<int64_t>(flags.lease_seconds * 1e6);
  options.audit_keep_us = int64_t{flags.audit_days} * 86'400'000'000;
  options.jobs_keep_us = int64_t{flags.keep_jobs_days} * 86'400'000'000;
  options.jobs_keep_number = flags.keep_jobs_number;
  options.jobs_keep_bytes = static_cast<int64_t>(std::ceil(flags.keep_jobs_gib * (1 << 30)));
  options.projects = {flags.preemption, flags.fair_share_days * 86'400};
  options.declared = *Declared(flags);  // Check has validated it
  absl::StatusOr<std::vector<DeclaredPool>> declared_pools = ReadPools(flags, *identity);
  if (!declared_pools.ok()) return declared_pools.status();
  if (status = WarnOfOtherPools((*store)->database(), *declared_pools); !status.ok()) return status;
  const std::vector<WorkerRoom> of_pools = DeclaredRooms(*declared_pools);
  options.declared.insert(options.declared.end(), of_pools.begin(), of_pools.end());
  options.blobs = artifacts->get();
  options.rank_tls = WhenRanksEncrypt(flags);
  options.issue_credentials = [](const std::string& job, int64_t trial, int64_t attempt, int32_t ranks) {
    return IssueRankCredentials(job, trial, attempt, ranks);
  };
  absl::StatusOr<std::vector<DeclaredWebhook>> webhooks = ReadWebhooks(flags);
  if (!webhooks.ok()) return webhooks.status();
  const auto outbox = std::make_shared<WebhookOutbox>(*std::move(webhooks));
  if (!outbox->webhooks().empty()) {
    options.tell = [outbox](Context& context, const v1::Event& event) { outbox->Tell(context, event); };
  }
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Start(*std::move(store), hub, std::move(options));
  if (!coordinator.ok()) return coordinator.status();
  (*coordinator)->OnFatal(StopWithoutRecord);
  if (*artifacts != nullptr) {
    (*artifacts)->OnLoss([raw = coordinator->get()](const std::string& digest) { raw->LoseBlob(digest); });
  }
  absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Start(flags.db, Clock::System());
  if (!reader.ok()) return reader.status();
  GrpcServer* running = nullptr;
  const auto standings = std::make_shared<PoolStandings>();
  (*reader)->Post([standings](Reads& reads) {
    reads.SetPoolWords([standings](const RankShape& shape) { return standings->WordsFor(shape); });
  });
  metrics.AddFamilies([standings] { return standings->Metrics(); });
  const std::unique_ptr<PoolKeeper> pools =
      MakePools(flags, *std::move(declared_pools), *identity, **coordinator, running, standings);
  WebhookSender sender(**coordinator, hub, outbox);
  GrpcServerOptions listen = ServerOptions(flags);
  listen.webhooks.list = [outbox](Engine& engine) { return outbox->List(engine.context()); };
  listen.webhooks.test = [outbox](Engine& engine, const std::string& webhook) {
    return outbox->Test(engine.context(), webhook);
  };
  if (pools != nullptr) {
    listen.pools.list = [raw = pools.get()](auto done) { raw->List(std::move(done)); };
    listen.pools.render = [raw = pools.get()](const std::string& pool, int32_t nodes) {
      return raw->Render(pool, nodes);
    };
  }
  listen.artifacts = artifacts->get();
  listen.metrics = &metrics;
  listen.files = *FilesOfJobs(flags);  // Check has validated it
  AddGauges(metrics, **coordinator, artifacts->get());
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start(listen, **coordinator, **reader, hub);
  if (!server.ok()) return server.status();
  running = server->get();

  SignIns sign_ins(**coordinator, (*server)->authority(), hub, Clock::System());
  absl::StatusOr<std::unique_ptr<HttpServer>> http = StartHttp(
      flags, true, **server, MakeHealthProbe(**coordinator, **reader), metrics,
      flags.oidc.used() ? std::make_shared<SignInRoutes>(flags.oidc, sign_ins, Clock::System()) : nullptr);
  if (!http.ok()) return http.status();
  absl::StatusOr<std::unique_ptr<HttpServer>> sagemaker = StartSagemaker(flags, **server);
  if (!sagemaker.ok()) return sagemaker.status();
  std::string address =
      fmt::format("{}:{}", flags.listen.substr(0, flags.listen.rfind(':')), (*server)->port());
  if (leadership != nullptr) leadership->Tell(AddressForOthers(flags, (*server)->port()));
  status = WritePort(flags.port_file, (*server)->port());
  if (!status.ok()) return status;
  std::unique_ptr<LocalWorkers> workers;
  // Local workers of a killed server end, also where none are wanted any more.
  if (flags.local_workers > 0 || fs::exists(fs::path(flags.state_dir) / "workers")) {
    LocalWorkersOptions local;
    local.count = flags.local_workers;
    local.slots = flags.slots;
    if (!flags.gpus.empty() || !flags.gpu_text.empty()) local.gpus = flags.gpus;
    local.gpu_health_command = flags.gpu_health_command;
    local.run_as = flags.run_as;
    local.warm_trainers = flags.warm_trainers;
    local.server = listen.socket.empty() ? address : "unix:" + listen.socket;
    local.port = (*server)->port();
    local.program = fs::read_symlink("/proc/self/exe").parent_path() / "winnow-worker";
    local.state_dir = fs::absolute(flags.state_dir);
    if (!flags.secrets_dir.empty()) local.secrets_dir = fs::absolute(flags.secrets_dir);
    local.log = log;
    absl::StatusOr<std::unique_ptr<LocalWorkers>> started = LocalWorkers::Start(std::move(local));
    if (!started.ok()) return started.status();
    workers = *std::move(started);
    signals.OnSecond([raw = workers.get()] { raw->Kill(); });
  }
  if (pools != nullptr) pools->Start(address);
  spdlog::info("winnow-server {} listens on {}; database {}; {} local workers of {} slots", WINNOW_VERSION,
               address, flags.db, flags.local_workers, flags.slots);
  if (!listen.socket.empty()) {
    spdlog::info("{}tokens are required; create one with: winnow --server unix:{} token create --role admin",
                 listen.tls.used() ? "TLS is on, and " : "", listen.socket);
  }

  signals.WaitForFirst();
  if (pools != nullptr) pools->AnnounceStop();
  sender.Stop();
  spdlog::info("stopping: local workers hand back their trials");
  (*server)->AnnounceStop();
  if (*http != nullptr) (*http)->AnnounceStop();
  if (*sagemaker != nullptr) (*sagemaker)->AnnounceStop();
  if (workers != nullptr) workers->Stop(kWorkersLeave);
  signals.OnSecond(nullptr);
  last_resort.emplace(kAllEnds, LeaveAtOnce);
  if (*artifacts != nullptr) (*artifacts)->EndWaits();
  (*server)->Stop(kCallsEnd);
  if (*http != nullptr) (*http)->Stop(kAnswersEnd);
  if (*sagemaker != nullptr) (*sagemaker)->Stop(kAnswersEnd);
  if (pools != nullptr) pools->Stop();  // it gives the server tokens
  // Declared in the order of use, destroyed in the reverse: http; the server, which waits for what the
  // coordinator has of its calls; reader; coordinator with the store.
  spdlog::info("stopped");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  ServerFlags flags;
  CLI::App app("Takes tuning jobs, decides what to try, and tells workers what to run.", "winnow-server");
  app.formatter(std::make_shared<winnow::HelpFormatter>());
  Declare(app, flags);
  Settings settings(app, "WINNOW_SERVER_");
  const CommandLine line = ReadCommandLine(app, argc, argv);
  if (line.exit_code) return *line.exit_code;
  if (!line.problem.empty()) return Misused(line.problem);
  if (const std::string problem = settings.Fill(); !problem.empty()) return Misused(problem);
  if (const std::string shown = settings.Shown(); !shown.empty()) {
    fmt::print("{}", shown);
    return 0;
  }
  if (const std::string problem = CheckTogether(app, flags); !problem.empty()) return Misused(problem);
  if (flags.read_only) flags.local_workers = 0;
  if (flags.local_workers > 0) {
    absl::StatusOr<std::vector<GpuDevice>> gpus = OwnGpus(flags.gpu_text);
    if (!gpus.ok()) return Misused("--gpus: " + MessageOf(gpus.status()));
    flags.gpus = *std::move(gpus);
  }
  if (const std::string problem = Check(flags); !problem.empty()) return Misused(problem);
  if (const std::string problem = ReadSignIn(flags); !problem.empty()) return Misused(problem);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("winnow-server"));
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  if (const std::optional<int> code = RunTask(flags); code.has_value()) return *code;

  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // this program prints its own messages

  Signals signals(set);
  absl::Status status =
      flags.read_only ? Show(OptionsOfShow(flags, signals)) : Serve(std::move(flags), signals);
  if (status.ok()) return 0;
  fmt::print(stderr, "winnow-server: {}\n", MessageOf(status));
  return 1;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  winnow::OpenStandardStreams();
  return winnow::Main(argc, argv);
}
