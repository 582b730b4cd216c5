// winnow-worker: runs trials for a winnow-server on this machine.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "artifact/folder.h"
#include "base/environment.h"
#include "base/gpus.h"
#include "base/standard_streams.h"
#include "base/status_text.h"
#include "flags/command_line.h"
#include "flags/help_formatter.h"
#include "flags/settings.h"
#include "fmt/format.h"
#include "rpc/channel.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#include "worker/agent.h"
#include "worker/checkpoints/checkpoint_keeper.h"
#include "worker/containers/container_host.h"
#include "worker/data/channel_keeper.h"
#include "worker/gpu_health.h"
#include "worker/gpu_use.h"
#include "worker/grpc_sync_client.h"
#include "worker/host/capacity.h"
#include "worker/host/folders.h"
#include "worker/host/leftover_processes.h"
#include "worker/host/limits.h"
#include "worker/host/own_address.h"
#include "worker/host/process.h"
#include "worker/host/run_as.h"
#include "worker/host/usage.h"
#include "worker/preemption.h"
#include "worker/runs/process_trainers.h"
#include "worker/runs/trainer_environment.h"
#include "worker/sources/source_keeper.h"
#include "worker/storage_id.h"
#include "worker/trainer_module.h"
#include "worker/work_folder_lock.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Below the 5 s between the Syncs of an idle worker.
constexpr std::chrono::milliseconds kGpuUseInterval(4'500);
constexpr int kAheadOfSlot = 4;  // assignments that it takes beyond its slots, for each slot
// Where levels take less, what follows from a report in the middle of a part can wait that long. Where parts
// take less, the worker reports the end of the next part instead of polling: a call and its commit then cost
// worker and server together about as much time as training a level.
constexpr std::chrono::milliseconds kReportPause(10);
constexpr char kPoolLabel[] = "pool";  // of workers that an engine has started, or that count as if it had
constexpr double kWarmMemory = 0.25;   // part of the trainers' memory for those that wait

struct Flags {
  EndpointFlags endpoint;
  Endpoint server;  // from the flags and the environment
  std::string name;
  int slots = 0;
  std::string work_dir;
  std::string shared_dir;
  std::string secrets_dir;
  std::string data_dir;
  double data_gib = -1;  // -1: the default
  std::string host;
  std::vector<std::string> label_texts;
  std::map<std::string, std::string> labels;
  HostCapacity capacity;
  int host_workers = 1;
  std::string gpu_text;  // "": those that are found
  std::vector<GpuDevice> gpus;
  GpuCheck gpu_check;
  double gpu_health_interval = 60;
  PreemptionSource preemption;
  double preemption_interval = 5;
  int rendezvous_port = 29500;
  double offline_timeout = 0;
  double join_timeout = 0;
  double lifetime = 0;  // 0: no end
  double lifetime_stagger = 0;
  double cost_per_hour = 0;
  std::string run_as_text;
  std::optional<RunAs> run_as;
  int warm_trainers = -1;  // -1: the default
  bool check = false;
  std::string log_level = "info";
};

std::string HostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "worker";
}

std::string CheckName(const std::string& name) {
  const bool good =
      !name.empty() && name.size() <= 63 && name[0] != '.' &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
          std::string::npos;
  return good ? "" : fmt::format("\"{}\": expected at most 63 letters, digits, '-', '_' and '.'", name);
}

void Declare(CLI::App* app, Flags* flags) {
  app->set_version_flag("--version", "winnow-worker " WINNOW_VERSION);
  app->add_option("--server", flags->endpoint.server,
                  "Address of winnow-server, or unix:/PATH; where several servers share one database, all "
                  "their addresses with commas between them (env WINNOW_SERVER; default 127.0.0.1:7070)")
      ->type_name("HOST:PORT");
  app->add_option("--tls-ca", flags->endpoint.tls_ca,
                  "CA certificate that signed the server's certificate (PEM; env WINNOW_TLS_CA; default: the "
                  "system's authorities)")
      ->type_name("FILE");
  app->add_option("--tls-cert", flags->endpoint.tls_cert,
                  "Certificate of this worker, if the server requires one (PEM; env WINNOW_TLS_CERT)")
      ->type_name("FILE");
  app->add_option("--tls-key", flags->endpoint.tls_key,
                  "Private key of the certificate (PEM; env WINNOW_TLS_KEY)")
      ->type_name("FILE");
  app->add_option("--token-file", flags->endpoint.token_file,
                  "File with this worker's token (env WINNOW_TOKEN_FILE, or WINNOW_TOKEN: the token itself)")
      ->type_name("FILE");
  app->add_option("--name", flags->name, "Name that persists over restarts (default: the host's name)")
      ->check(CheckName)
      ->option_text("NAME");
  app->add_option("--slots", flags->slots, "Concurrent trials (ranks) (default: number of CPUs)")
      ->check(CLI::Range(1, 1024));
  app->add_option("--work-dir", flags->work_dir,
                  "Directory used by this worker only (default: ~/.winnow/worker/NAME)")
      ->type_name("DIR");
  app->add_option("--shared-dir", flags->shared_dir,
                  "Directory of checkpoints and models, shared with other workers (default: WORK_DIR/shared)")
      ->type_name("DIR");
  app->add_option(
         "--secrets-dir", flags->secrets_dir,
         "Directory of secrets for jobs: OWNER/NAME for the jobs of one owner, everyone/NAME for all "
         "(default: none)")
      ->option_text("DIR");
  app->add_option(
         "--data-dir", flags->data_dir,
         "Directory of downloaded channels, for all workers of this host that name it (default: downloads in "
         "the trainers' cache, see WINNOW_CACHE_DIR; with --run-as WORK_DIR/downloads)")
      ->option_text("DIR");
  app->add_option("--data-gib", flags->data_gib,
                  "Maximum size of the downloads that are kept while no trial uses them; the least recently "
                  "used is removed first (default: 100 GiB or a quarter of the disk, whichever is less)")
      ->type_name("GIB")
      ->check(CLI::Range(0.0, 1e9));
  app->add_option("--host", flags->host,
                  "Host name or address of this machine for other ranks (default: the address from which it "
                  "reaches the server)")
      ->check([](const std::string& host) { return host.empty() ? "expected a name or an address" : ""; })
      ->option_text("HOST");
  app->add_option("--rendezvous-port", flags->rendezvous_port,
                  "First of SLOTS ports at which the ranks of a trial meet; if all are in use, any free one")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app->add_option("--label", flags->label_texts,
                  "Label that jobs can require; may be given again (gpu=N is detected)")
      ->type_name("NAME[=VALUE]");
  app->add_option("--cpus", flags->capacity.cpus,
                  "CPUs for trainers (default: what affinity and control groups allow)")
      ->check(CLI::Range(0.001, 1e6));
  app->add_option("--memory-gib", flags->capacity.memory_gib,
                  "Memory for trainers (default: the host's, or what control groups allow)")
      ->type_name("GIB")
      ->check(CLI::Range(0.001, 1e9));
  app->add_option("--host-workers", flags->host_workers,
                  "Number of workers on this host; divides the default CPUs and memory among them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option(
         "--gpus", flags->gpu_text,
         "GPUs for trials: indices or UUIDs with commas between them, or none; another worker of this "
         "host must not name them too (default: CUDA_VISIBLE_DEVICES, or those that nvidia-smi, /dev or "
         "rocm-smi list)")
      ->option_text("LIST");
  app->add_option(
         "--gpu-health-command", flags->gpu_check.command,
         "Shell command, run for each GPU with its CUDA_VISIBLE_DEVICES; a GPU for which it fails gets "
         "no new trials (default: none)")
      ->type_name("COMMAND");
  app->add_option(
         "--gpu-health-interval", flags->gpu_health_interval,
         "Time between two rounds of the health command; a run that takes more than half of that has "
         "failed")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  app->add_option("--preemption-command", flags->preemption.command,
                  "Shell command whose exit code 0 means that this machine will be preempted (default: none)")
      ->type_name("COMMAND");
  app->add_option("--preemption-file", flags->preemption.file,
                  "File whose existence means that this machine will be preempted (default: none)")
      ->type_name("FILE");
  app->add_option("--preemption-interval", flags->preemption_interval,
                  "Time between two runs of the preemption command")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.01, 86400.0))
      ->capture_default_str();
  app->add_option("--offline-timeout", flags->offline_timeout,
                  "Stop trainers after this long without an answer from the server; 0: never")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option("--join-timeout", flags->join_timeout,
                  "Leave if the server has not answered for the first time after this long; 0: as "
                  "--offline-timeout says")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option("--lifetime", flags->lifetime,
                  "Leave after this long: trials save a checkpoint and are handed back; 0: never. Set it "
                  "below the time limit of an engine such as Slurm")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option("--lifetime-stagger", flags->lifetime_stagger,
                  "Leave earlier by a random part of this, so that not all workers do at once")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option("--cost-per-hour", flags->cost_per_hour,
                  "Cost of an hour of this worker, in any currency; a job is charged for its share of the "
                  "slots (limits.max_cost)")
      ->type_name("MONEY")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option(
         "--run-as", flags->run_as_text,
         "User for trainers: USER[:GROUP], or a range FIRST-LAST[:GROUP] of unused user ids, one per trial "
         "(default: the worker's own)")
      ->option_text("USERS");
  app->add_option("--warm-trainers", flags->warm_trainers,
                  "Maximum number of programs of paused trials that wait for their next part instead of "
                  "ending; 0: none (default: "
                  "16 for each slot, at most 4 for each GiB of memory)")
      ->check(CLI::Range(0, 10'000))
      ->type_name("N");
  app->add_flag("--check", flags->check,
                "Check the flags and the files that they name, and exit: 0 if this worker could run");
  app->add_option("--log-level", flags->log_level, "debug, info, warn or error (default: info)")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->option_text("LEVEL");
}

int DefaultWarmTrainers(const Flags& flags) {
  constexpr int kPerSlot = 16;
  constexpr double kPerGib = 4;
  const int by_slots = kPerSlot * flags.slots;
  if (flags.capacity.memory_gib <= 0) return by_slots;
  return std::clamp(static_cast<int>(kPerGib * flags.capacity.memory_gib), 1, by_slots);
}

// Fills in the defaults that depend on other flags. Returns the error, or "".
std::string Complete(Flags* flags) {
  absl::StatusOr<Endpoint> server = MakeEndpoint(flags->endpoint);
  if (!server.ok()) return MessageOf(server.status());
  flags->server = *std::move(server);
  if (!(flags->offline_timeout >= 0)) return "--offline-timeout: expected a number of seconds from 0 to 1e9";
  if (!(flags->join_timeout >= 0)) return "--join-timeout: expected a number of seconds from 0 to 1e9";
  if (!(flags->lifetime >= 0)) return "--lifetime: expected a number of seconds from 0 to 1e9";
  if (!(flags->lifetime_stagger >= 0 && (flags->lifetime == 0 || flags->lifetime_stagger < flags->lifetime)))
    return "--lifetime-stagger: expected a number of seconds below --lifetime";
  if (flags->host.empty()) flags->host = OwnAddressTowards(flags->server.address);
  // For example, a network that is not up yet; others may still resolve the name.
  if (flags->host.empty()) flags->host = HostName();
  const HostCapacity host = ReadHostCapacity();
  if (flags->capacity.cpus == 0) flags->capacity.cpus = host.cpus / flags->host_workers;
  if (flags->capacity.memory_gib == 0) flags->capacity.memory_gib = host.memory_gib / flags->host_workers;
  absl::StatusOr<std::vector<GpuDevice>> gpus = OwnGpus(flags->gpu_text);
  if (!gpus.ok()) return "--gpus: " + MessageOf(gpus.status());
  flags->gpus = *std::move(gpus);
  if (!(flags->gpu_health_interval > 0)) return "--gpu-health-interval: expected a number of seconds above 0";
  flags->gpu_check.interval =
      std::chrono::milliseconds(static_cast<int64_t>(flags->gpu_health_interval * 1000));
  flags->gpu_check.patience = flags->gpu_check.interval / 2;
  if (!flags->gpus.empty()) flags->labels["gpu"] = std::to_string(flags->gpus.size());
  for (const std::string& label : flags->label_texts) {
    if (const std::string problem = AddLabel(label, &flags->labels); !problem.empty())
      return "--label: " + problem;
  }
  if (!(flags->preemption_interval > 0)) return "--preemption-interval: expected a number of seconds above 0";
  flags->preemption.interval =
      std::chrono::milliseconds(static_cast<int64_t>(flags->preemption_interval * 1000));
  if (!flags->run_as_text.empty()) {
    absl::StatusOr<RunAs> run_as = RunAs::Parse(flags->run_as_text);
    if (!run_as.ok()) return "--run-as: " + MessageOf(run_as.status());
    if (absl::Status may = CheckMayRunAs(); !may.ok()) return "--run-as: " + MessageOf(may);
    flags->run_as = *std::move(run_as);
  }
  if (flags->name.empty()) flags->name = HostName();
  if (flags->slots == 0) flags->slots = std::max(1u, std::thread::hardware_concurrency());
  if (flags->warm_trainers < 0) flags->warm_trainers = DefaultWarmTrainers(*flags);
  if (flags->rendezvous_port + flags->slots - 1 > 65535) {
    return fmt::format("--rendezvous-port: {} leaves fewer than {} ports up to 65535", flags->rendezvous_port,
                       flags->slots);
  }
  if (flags->work_dir.empty()) {
    const std::string home = EnvironmentVariable("HOME");
    if (home.empty()) return "--work-dir: expected, since HOME is not set";
    flags->work_dir = fmt::format("{}/.winnow/worker/{}", home, flags->name);
  }
  if (!flags->secrets_dir.empty()) {
    std::error_code error;
    const fs::file_type type = fs::status(flags->secrets_dir, error).type();
    if (type == fs::file_type::none)
      return fmt::format("--secrets-dir: \"{}\": {}", flags->secrets_dir, error.message());
    if (type != fs::file_type::directory) {
      return fmt::format("--secrets-dir: \"{}\" is not a directory", flags->secrets_dir);
    }
    flags->secrets_dir = fs::absolute(flags->secrets_dir).string();
  }
  flags->work_dir = fs::absolute(flags->work_dir).string();
  if (flags->data_dir.empty()) {
    const std::string cache = flags->run_as.has_value() ? "" : UserCacheFolder().value_or("");
    flags->data_dir = (cache.empty() ? flags->work_dir : cache) + "/downloads";
  }
  flags->data_dir = fs::absolute(flags->data_dir).string();
  flags->shared_dir =
      flags->shared_dir.empty() ? flags->work_dir + "/shared" : fs::absolute(flags->shared_dir).string();
  if (flags->run_as.has_value() && flags->run_as->is_range() &&
      flags->run_as->count() < static_cast<size_t>(flags->slots)) {
    return fmt::format("--run-as: \"{}\" are {} users; expected one for each of the {} slots",
                       flags->run_as_text, flags->run_as->count(), flags->slots);
  }
  return "";
}

// Returns the files of this worker that a trainer must not read or enter, from flags and environment.
std::vector<std::string> SecretFiles(const Flags& flags) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& flag, const char* variable) {
    if (const std::string file = !flag.empty() ? flag : EnvironmentVariable(variable); !file.empty())
      files.push_back(file);
  };
  add(flags.endpoint.token_file, "WINNOW_TOKEN_FILE");
  add(flags.endpoint.tls_key, "WINNOW_TLS_KEY");
  if (!flags.secrets_dir.empty()) files.push_back(flags.secrets_dir);
  if (flags.server.address.starts_with("unix:")) files.push_back(flags.server.address.substr(5));
  return files;
}

// Sets permissions so that trainers can pass to their own folders and see nothing else.
absl::Status SetApart(const Flags& flags) {
  for (const std::string& folder : {flags.work_dir, flags.shared_dir}) {
    if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  }
  const auto work = OpenFolder::Open(FolderName(flags.work_dir, ""));
  if (!work.ok()) return work.status();
  absl::Status status = work->ForEach([&](const std::string& name, const struct stat& about) -> absl::Status {
    if (fs::path(flags.work_dir) / name == flags.shared_dir || S_ISLNK(about.st_mode))
      return absl::OkStatus();
    if (fchmodat(work->descriptor(), name.c_str(), S_ISDIR(about.st_mode) ? 0700 : 0600, 0) == 0)
      return absl::OkStatus();
    return FileError(work->path() / name, "cannot set its permissions", errno);
  });
  if (status.ok()) status = work->Remove(kHomes);
  if (status.ok()) status = work->SetMode(0711);
  const auto shared = OpenFolder::Open(FolderName(flags.shared_dir, ""));
  struct stat about {};
  if (!status.ok() || !shared.ok() || fstat(shared->descriptor(), &about) != 0) return status;
  // CheckRunAs reports whether another user's folder can be passed.
  return about.st_uid == geteuid() ? shared->SetMode((about.st_mode & 07777) | 0111) : status;
}

// Checks that trainers can run under --run-as, and can reach what they need and nothing secret.
absl::Status CheckRunAs(const Flags& flags) {
  if (absl::Status status = CheckMayRunAs(); !status.ok()) return status;
  for (size_t i = 0; i < flags.run_as->count(); ++i) {
    const TrainerUser user = flags.run_as->user(i);
    for (const std::string& file : SecretFiles(flags)) {
      if (Obstacle(user, file).empty()) {
        return absl::FailedPreconditionError(
            fmt::format("{} can be read by user {}, as whom trainers run; only this worker's user may read "
                        "it (chmod go-rwx)",
                        file, user.uid));
      }
    }
    for (const std::string& folder : {flags.work_dir, flags.shared_dir}) {
      if (const fs::path above = Obstacle(user, folder); !above.empty()) {
        return absl::FailedPreconditionError(
            fmt::format("user {}, as whom trainers run, has no access to {}, which is above {}; name another "
                        "directory with "
                        "--work-dir or --shared-dir, or allow access (chmod a+x)",
                        user.uid, above.string(), folder));
      }
    }
  }
  return absl::OkStatus();
}

// Everything made from now on is private to this user by default.
absl::Status BeginRunAs(const Flags& flags) {
  if (absl::Status status = SetApart(flags); !status.ok()) return status;
  umask(077);
  return CheckRunAs(flags);
}

// How much is kept of downloads that nobody uses.
int64_t DataBytes(const Flags& flags) {
  constexpr double kGib = 1 << 30, kMostGib = 100;
  if (flags.data_gib >= 0) return static_cast<int64_t>(flags.data_gib * kGib);
  std::error_code error;
  fs::create_directories(flags.data_dir, error);
  const fs::space_info disk = fs::space(flags.data_dir, error);
  const double quarter = error ? kMostGib * kGib : static_cast<double>(disk.capacity) / 4;
  return static_cast<int64_t>(std::min(kMostGib * kGib, quarter));
}

// From now until the worker leaves. REQUIRES --lifetime.
std::chrono::milliseconds Life(const Flags& flags) {
  std::random_device random;
  const double part = std::uniform_real_distribution<double>(0, 1)(random);
  return std::chrono::milliseconds(
      static_cast<int64_t>(1000 * (flags.lifetime - part * flags.lifetime_stagger)));
}

Variables ToVariables(const std::vector<std::string>& environment) {
  Variables variables;
  for (const std::string& entry : environment) {
    if (const size_t equals = entry.find('='); equals != std::string::npos && equals > 0)
      variables[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return variables;
}

int Work(const Flags& flags) {
  // Blocked before any thread is made and before the lock says that the worker is up, so that only the loop
  // receives them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel = Connect(flags.server);
  if (!channel.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", MessageOf(channel.status()));
    return 2;
  }
  const auto lock = WorkFolderLock::Take(flags.work_dir);
  if (!lock.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", MessageOf(lock.status()));
    return 1;
  }
  (void)RemoveTree(fs::path(flags.work_dir) / kCredentials);  // of a worker that was killed
  if (flags.run_as.has_value()) {
    if (absl::Status status = BeginRunAs(flags); !status.ok()) {
      fmt::print(stderr, "winnow-worker: --run-as: {}\n", MessageOf(status));
      return 1;
    }
  } else if (geteuid() == 0) {
    spdlog::warn(
        "trainers run as root, as this worker does, and can do all that it can; use other users for them, "
        "for example --run-as 61184-61247");
  }
  const auto storage_id = ReadOrMakeStorageId(flags.shared_dir);
  if (!storage_id.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", MessageOf(storage_id.status()));
    return 1;
  }

  const auto folder_id = ReadOrMakeWorkFolderId(flags.work_dir);
  if (!folder_id.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", MessageOf(folder_id.status()));
    return 1;
  }
  // Gives the folder one name, however the flag spells it.
  std::error_code error;
  fs::path work = fs::canonical(flags.work_dir, error);
  if (error) work = flags.work_dir;
  std::optional<TrainerUsers> users;
  if (flags.run_as.has_value()) {
    auto created = TrainerUsers::Create(*flags.run_as, kUserRegistry);
    if (!created.ok()) {
      fmt::print(stderr, "winnow-worker: --run-as: {}\n", MessageOf(created.status()));
      return 1;
    }
    users.emplace(*std::move(created));
  }
  const LeftoverCount leftovers =
      KillLeftovers(work.string(), std::chrono::seconds(10), users.has_value() ? &users->run_as() : nullptr);
  if (users.has_value()) users->ReclaimAll();
  if (leftovers.killed > 0) {
    spdlog::warn("killed {} processes left by trainers of an earlier worker{}", leftovers.killed,
                 leftovers.all_gone ? "" : "; some still exist");
  }

  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

  AgentOptions options;
  options.server = flags.server.address;
  options.identity.name = flags.name;
  options.identity.host = flags.host;
  options.identity.loopback_of = LoopbackOf(flags.host);
  options.identity.slots = flags.slots;
  options.identity.storage_id = *storage_id;
  options.identity.version = WINNOW_VERSION;
  options.identity.rendezvous_port = flags.rendezvous_port;
  options.identity.labels = flags.labels;
  options.identity.cost_per_hour = flags.cost_per_hour;
  if (flags.lifetime > 0) options.identity.end = std::chrono::steady_clock::now() + Life(flags);
  options.identity.cpus = flags.capacity.cpus;
  options.identity.memory_gib = flags.capacity.memory_gib;
  std::vector<v1::Gpu> gpus;
  for (const GpuDevice& device : flags.gpus) {
    v1::Gpu& gpu = gpus.emplace_back();
    gpu.set_id(device.id);
    gpu.set_model(device.model);
  }
  gpus = BeforeCheck(flags.gpu_check, std::move(gpus));
  options.identity.gpus = gpus;
  // A user may be needed by each that is prepared, and there is one for each slot.
  if (flags.warm_trainers > 0 && !users.has_value()) options.identity.ahead = kAheadOfSlot * flags.slots;
  if (flags.warm_trainers > 0) options.limits.report_pause = options.limits.poll_pause = kReportPause;
  options.worker_id_prefix = folder_id->substr(0, 16);
  options.offline_timeout = std::chrono::milliseconds(static_cast<int64_t>(flags.offline_timeout * 1000));
  options.join_timeout = std::chrono::milliseconds(static_cast<int64_t>(flags.join_timeout * 1000));

  // Its existence signals a healthy worker to others, such as a container's health check.
  const fs::path connected = work / "connected";
  std::error_code ignored;
  fs::remove(connected, ignored);
  options.connected = [connected](bool is_connected) {
    std::error_code failed;
    if (is_connected) {
      std::ofstream(connected) << getpid() << "\n";
    } else {
      fs::remove(connected, failed);
    }
  };

  const absl::StatusOr<fs::path> module = WriteTrainerModules(work);
  if (!module.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", MessageOf(module.status()));
    return 1;
  }

  EventLoop loop;
  Limiter limiter(&loop, work, folder_id->substr(0, 16));
  if (limiter.leftovers() > 0) {
    spdlog::warn("killed {} processes left by trainers of an earlier worker in their groups",
                 limiter.leftovers());
  }
  options.identity.limits = limiter.Name();
  HostUsage usage;
  options.usage = &usage;
  ContainerHost containers(&loop, work, OwnEnvironment(), users.has_value());
  TrainerPlace place{work,
                     flags.shared_dir,
                     fs::read_symlink("/proc/self/exe").parent_path().string(),
                     flags.host,
                     OwnEnvironment(),
                     &limiter,
                     &usage,
                     flags.name,
                     flags.secrets_dir,
                     users.has_value() ? &*users : nullptr,
                     *module,
                     &containers,
                     flags.labels.contains(kPoolLabel)};
  place.views = ViewsFolder(flags.data_dir);
  GrpcSyncClient client(*channel, flags.server);
  CheckpointKeeper keeper(&loop, *channel);
  SourceKeeper sources(&loop, *channel, work, &containers);
  ChannelKeeper channels(&loop,
                         {flags.data_dir, work.string(), DataBytes(flags), ToVariables(place.environment)});
  ProcessTrainers trainers(&loop, place, {flags.rendezvous_port, flags.slots}, &keeper, &sources,
                           {flags.warm_trainers, kWarmMemory * flags.capacity.memory_gib}, &channels);
  Agent agent(&loop, &client, &trainers, options);
  bool leaving = false;
  loop.Watch(signal_fd, [&agent, &leaving, signal_fd] {
    signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) == sizeof info) {
      std::exchange(leaving, true) ? agent.LeaveNow() : agent.Leave();
    }
  });
  const GpuHealth gpu_health(&loop, flags.gpu_check, gpus,
                             [&agent](const std::vector<v1::Gpu>& now) { agent.SetGpus(now); });
  const GpuUseMeter gpu_use(&loop, gpus, kGpuUseInterval,
                            [&agent](const std::vector<v1::Gpu>& now) { agent.SetGpuUse(now); });
  bool preempted = false;
  if (options.identity.end) {
    loop.At(*options.identity.end, [&agent, &preempted] {
      preempted = true;
      agent.Leave("its lifetime is over");
    });
  }
  const PreemptionWatch preemption(&loop, flags.preemption, [&agent, &preempted](std::string reason) {
    preempted = true;
    agent.Leave(std::move(reason));
  });
  spdlog::info("worker {} for {}; work directory {}, shared directory {}; GPUs: {}", flags.name,
               flags.server.address, flags.work_dir, flags.shared_dir, GpuListText(flags.gpus));
  const absl::Status status = agent.Run(&loop);
  fs::remove(connected, ignored);
  if (!status.ok()) spdlog::error("{}", MessageOf(status));
  // The server copes with lost assignments; only a worker that gave up by itself has failed.
  return status.ok() || leaving || preempted ? 0 : 1;
}

int Main(int argc, char** argv) {
  setenv("GRPC_VERBOSITY", "NONE", 0);  // this program prints its own messages
  CLI::App app("Runs trials for a winnow-server on this machine.", "winnow-worker");
  app.formatter(std::make_shared<winnow::HelpFormatter>());
  Flags flags;
  Declare(&app, &flags);
  Settings settings(app, "WINNOW_WORKER_",
                    {{"--server", {"WINNOW_SERVER"}},
                     {"--tls-ca", {"WINNOW_TLS_CA"}},
                     {"--tls-cert", {"WINNOW_TLS_CERT"}},
                     {"--tls-key", {"WINNOW_TLS_KEY"}},
                     {"--token-file", {"WINNOW_TOKEN_FILE", "WINNOW_TOKEN"}}});
  const CommandLine line = ReadCommandLine(app, argc, argv);
  if (line.exit_code) return *line.exit_code;
  std::string problem = line.problem.empty() ? settings.Fill() : line.problem;
  if (const std::string shown = settings.Shown(); problem.empty() && !shown.empty()) {
    fmt::print("{}", shown);
    return 0;
  }
  if (problem.empty()) problem = Complete(&flags);
  if (!problem.empty()) {
    fmt::print(stderr, "winnow-worker: {}\nRun with --help for more information.\n", problem);
    return 2;
  }
  TakeEnvironmentVariable("WINNOW_TOKEN");  // it has been read
  HideFromOthers();
  if (flags.check) {
    if (const auto channel = Connect(flags.server); !channel.ok()) {
      fmt::print(stderr, "winnow-worker: {}\n", MessageOf(channel.status()));
      return 1;
    }
    const absl::Status status = flags.run_as.has_value() ? CheckRunAs(flags) : absl::OkStatus();
    if (!status.ok()) fmt::print(stderr, "winnow-worker: --run-as: {}\n", MessageOf(status));
    return status.ok() ? 0 : 1;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_st("worker"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(spdlog::level::from_str(flags.log_level));
  return Work(flags);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  winnow::OpenStandardStreams();
  return winnow::Main(argc, argv);
}
