// winnow-worker: runs trials for a winnow-server on this machine.

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"
#include "worker/agent.h"
#include "worker/grpc_sync_client.h"
#include "worker/leftover_processes.h"
#include "worker/server_address.h"
#include "worker/storage_id.h"
#include "worker/trainer_environment.h"
#include "worker/work_folder_lock.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string server = "127.0.0.1:7070";
  std::string name;
  int slots = 0;
  std::string work_dir;
  std::string shared_dir;
  std::string host = "127.0.0.1";
  int rendezvous_port = 29500;
  double offline_timeout = 0;
  spdlog::level::level_enum log_level = spdlog::level::info;
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
  const std::map<std::string, spdlog::level::level_enum> levels = {{"debug", spdlog::level::debug},
                                                                   {"info", spdlog::level::info},
                                                                   {"warn", spdlog::level::warn},
                                                                   {"error", spdlog::level::err}};
  app->set_version_flag("--version", "winnow-worker " WINNOW_VERSION);
  app->add_option("--server", flags->server, "Address of winnow-server, HOST:PORT")
      ->envname("WINNOW_SERVER")
      ->capture_default_str();
  app->add_option("--name", flags->name, "Name that stays over restarts (default: the host's name)")
      ->check(CheckName);
  app->add_option("--slots", flags->slots, "Trials (ranks) at a time (default: the number of processors)")
      ->check(CLI::Range(1, 1024));
  app->add_option("--work-dir", flags->work_dir,
                  "Folder of this worker alone (default: ~/.winnow/worker/NAME)");
  app->add_option("--shared-dir", flags->shared_dir,
                  "Folder of checkpoints and models, shared with other workers (default: WORK_DIR/shared)");
  app->add_option("--host", flags->host, "Name or address under which other ranks reach this machine")
      ->capture_default_str();
  app->add_option("--rendezvous-port", flags->rendezvous_port,
                  "First of SLOTS ports on which a rank 0 may listen")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app->add_option("--offline-timeout", flags->offline_timeout,
                  "Seconds without an answer of the server after which trainers are stopped; 0: never")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  app->add_option("--log-level", flags->log_level, "debug, info, warn or error (default: info)")
      ->transform(CLI::CheckedTransformer(levels));
}

// Fills in the defaults that depend on other flags. Empty, or what is wrong.
std::string Complete(Flags* flags) {
  if (const std::string problem = CheckLoopback(flags->server); !problem.empty())
    return "--server: " + problem;
  if (!(flags->offline_timeout >= 0)) return "--offline-timeout: expected a number of seconds from 0 to 1e9";
  if (flags->host.empty()) return "--host: expected a name or an address";
  if (flags->name.empty()) flags->name = HostName();
  if (flags->slots == 0) flags->slots = std::max(1u, std::thread::hardware_concurrency());
  if (flags->rendezvous_port + flags->slots - 1 > 65535) {
    return fmt::format("--rendezvous-port: {} leaves no {} ports up to 65535", flags->rendezvous_port,
                       flags->slots);
  }
  if (flags->work_dir.empty()) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') return "--work-dir: expected, since HOME is not set";
    flags->work_dir = fmt::format("{}/.winnow/worker/{}", home, flags->name);
  }
  flags->work_dir = fs::absolute(flags->work_dir).string();
  flags->shared_dir =
      flags->shared_dir.empty() ? flags->work_dir + "/shared" : fs::absolute(flags->shared_dir).string();
  return "";
}

int Work(const Flags& flags) {
  // Blocked here, before any thread is made and the lock says that it is at work, so that the loop alone
  // hears of them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  const auto lock = WorkFolderLock::Take(flags.work_dir);
  if (!lock.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", std::string(lock.status().message()));
    return 1;
  }
  const auto storage_id = ReadOrMakeStorageId(flags.shared_dir);
  if (!storage_id.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", std::string(storage_id.status().message()));
    return 1;
  }

  const auto folder_id = ReadOrMakeWorkFolderId(flags.work_dir);
  if (!folder_id.ok()) {
    fmt::print(stderr, "winnow-worker: {}\n", std::string(folder_id.status().message()));
    return 1;
  }
  // One name for the folder, whichever way it was given.
  std::error_code error;
  fs::path work = fs::canonical(flags.work_dir, error);
  if (error) work = flags.work_dir;
  const LeftoverCount leftovers = KillLeftovers(work.string(), std::chrono::seconds(10));
  if (leftovers.killed > 0) {
    spdlog::warn("killed {} processes that trainers of an earlier worker had left{}", leftovers.killed,
                 leftovers.all_gone ? "" : "; some are not gone yet");
  }

  const int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);

  AgentOptions options;
  options.identity = {flags.name,  flags.host,     flags.slots,
                      *storage_id, WINNOW_VERSION, flags.rendezvous_port};
  options.worker_id_prefix = folder_id->substr(0, 16);
  options.place = {work, flags.shared_dir, fs::read_symlink("/proc/self/exe").parent_path().string(),
                   flags.host, OwnEnvironment()};
  options.offline_timeout = std::chrono::milliseconds(static_cast<int64_t>(flags.offline_timeout * 1000));

  EventLoop loop;
  GrpcSyncClient client(MakeChannel(flags.server));
  Agent agent(&loop, &client, options);
  bool leaving = false;
  loop.Watch(signal_fd, [&agent, &leaving, signal_fd] {
    signalfd_siginfo info;
    while (read(signal_fd, &info, sizeof info) == sizeof info) {
      std::exchange(leaving, true) ? agent.LeaveNow() : agent.Leave();
    }
  });
  spdlog::info("worker {} for {}; work folder {}, shared folder {}", flags.name, flags.server, flags.work_dir,
               flags.shared_dir);
  const absl::Status status = agent.Run();
  if (!status.ok()) spdlog::error("{}", std::string(status.message()));
  // Handed back or not, the server copes; only a worker that gave up by itself has failed.
  return status.ok() || leaving ? 0 : 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Runs trials for a winnow-server on this machine.", "winnow-worker");
  Flags flags;
  Declare(&app, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const std::string problem = Complete(&flags); !problem.empty()) {
    fmt::print(stderr, "winnow-worker: {}\nRun with --help for more information.\n", problem);
    return 2;
  }
  spdlog::set_default_logger(spdlog::stderr_logger_st("worker"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  spdlog::set_level(flags.log_level);
  return Work(flags);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
