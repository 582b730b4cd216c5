// winnow-server: takes tuning jobs, decides what to try, and tells workers what to run.

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <thread>

#include "server/coordinator.h"
#include "server/grpc_server.h"
#include "server/local_workers.h"
#include "server/reader.h"
#include "server/state_dir.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// Trials of local workers get their own grace period, and the worker a moment more.
constexpr std::chrono::seconds kWorkersLeave{60};
constexpr std::chrono::seconds kCallsEnd{5};

struct Flags {
  std::string db = "winnow.db";
  std::string listen = "127.0.0.1:7070";
  int local_workers = 1;
  int slots = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  double lease_seconds = 15;
  std::string state_dir;
  std::string port_file;
  spdlog::level::level_enum log_level = spdlog::level::info;
};

void Declare(CLI::App& app, Flags& flags) {
  const std::map<std::string, spdlog::level::level_enum> levels = {{"debug", spdlog::level::debug},
                                                                   {"info", spdlog::level::info},
                                                                   {"warn", spdlog::level::warn},
                                                                   {"error", spdlog::level::err}};
  app.set_version_flag("--version", "winnow-server " WINNOW_VERSION);
  app.add_option("--db", flags.db, "Database file; made if it is not there")->capture_default_str();
  app.add_option("--listen", flags.listen, "HOST:PORT to listen on; port 0: chosen by the system")
      ->check([](const std::string& address) { return std::string(CheckListenAddress(address).message()); })
      ->capture_default_str();
  app.add_option("--local-workers", flags.local_workers, "Workers to start on this machine; 0: none")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app.add_option("--slots", flags.slots,
                 "Trials (ranks) at a time of each local worker; default: the processors")
      ->check(CLI::Range(1, 1024));
  app.add_option("--lease", flags.lease_seconds,
                 "Seconds without a word after which a worker is presumed dead")
      ->check(CLI::Range(0.1, 86'400.0))
      ->capture_default_str();
  app.add_option("--state-dir", flags.state_dir,
                 "Folder of local workers, checkpoints and models (default: the database's path and \".d\")");
  app.add_option("--port-file", flags.port_file, "File to which the port is written once the server listens");
  app.add_option("--log-level", flags.log_level, "debug, info, warn or error (default: info)")
      ->transform(CLI::CheckedTransformer(levels));
}

// What the parser does not see. Empty, or what is wrong.
std::string Check(const Flags& flags) {
  if (flags.db.empty()) return "--db: \"\" is not a name; expected a file";
  if (flags.db == ":memory:") return "--db: \":memory:\" would be forgotten; expected a file";
  if (!(flags.lease_seconds > 0)) return "--lease: expected a number of seconds from 0.1 to 86400";  // nan
  return "";
}

// Says what is wrong with the flags; returns the exit code.
int Misused(const std::string& problem) {
  fmt::print(stderr, "winnow-server: {}\nRun with --help for more information.\n", problem);
  return 2;
}

// Held while the process lives, so that a database has one server.
absl::Status LockDatabase(const std::string& db) {
  std::string file = db + ".lock";
  int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return absl::FailedPreconditionError(fmt::format("cannot open {}: {}", file, strerror(errno)));
  }
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("{} is in use by another winnow-server; name another file by --db", db));
}

// Whole or not at all.
absl::Status WritePort(const std::string& file, int port) {
  if (file.empty()) return absl::OkStatus();
  std::string part = file + ".part";
  std::ofstream(part, std::ios::trunc) << port << '\n';
  std::error_code error;
  fs::rename(part, file, error);
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format("cannot write {}: {}", file, error.message()));
}

// Waits for SIGTERM and SIGINT on a thread of its own. REQUIRES they were blocked before any thread was made.
class Signals {
 public:
  explicit Signals(const sigset_t& set) : thread_([this, set] { Run(set); }) {}
  ~Signals() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  void WaitForFirst() { first_.get_future().wait(); }
  // What a second signal does.
  void OnSecond(std::function<void()> action) {
    std::lock_guard lock(mutex_);
    second_ = std::move(action);
  }

 private:
  void Run(sigset_t set) {
    bool first = true;
    for (int signal = 0; sigwait(&set, &signal) == 0 && signal != SIGUSR1;) {
      if (first) {
        first_.set_value();
        first = false;
        continue;
      }
      std::lock_guard lock(mutex_);
      if (second_) second_();
    }
  }
  std::promise<void> first_;
  std::mutex mutex_;
  std::function<void()> second_;  // guarded by mutex_
  std::thread thread_;
};

absl::Status Serve(Flags flags, Signals& signals) {
  if (flags.state_dir.empty()) flags.state_dir = flags.db + ".d";
  absl::Status status = LockDatabase(flags.db);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Store>> store = Store::Open(flags.db);
  if (!store.ok()) return store.status();

  absl::StatusOr<std::string> identity = (*store)->Identity();
  if (!identity.ok()) return identity.status();

  Hub hub;
  EngineOptions options;
  options.lease_us = static_cast<int64_t>(flags.lease_seconds * 1e6);
  absl::StatusOr<std::unique_ptr<Coordinator>> coordinator =
      Coordinator::Start(*std::move(store), hub, std::move(options));
  if (!coordinator.ok()) return coordinator.status();
  (*coordinator)->OnFatal([](const absl::Status& why) {
    spdlog::critical("stopping, since nothing more can be recorded: {}", std::string(why.message()));
  });
  absl::StatusOr<std::unique_ptr<Reader>> reader = Reader::Start(flags.db, Clock::System());
  if (!reader.ok()) return reader.status();
  absl::StatusOr<std::unique_ptr<GrpcServer>> server =
      GrpcServer::Start(flags.listen, **coordinator, **reader, hub);
  if (!server.ok()) return server.status();

  std::string address =
      fmt::format("{}:{}", flags.listen.substr(0, flags.listen.rfind(':')), (*server)->port());
  status = WritePort(flags.port_file, (*server)->port());
  if (!status.ok()) return status;
  std::unique_ptr<LocalWorkers> workers;
  if (flags.local_workers > 0) {
    auto log = [](const std::string& line) { spdlog::info("{}", line); };
    status = PrepareStateDir(fs::absolute(flags.state_dir), *identity, log);
    if (!status.ok()) return status;
    LocalWorkersOptions local;
    local.count = flags.local_workers;
    local.slots = flags.slots;
    local.server = address;
    local.port = (*server)->port();
    local.program = fs::read_symlink("/proc/self/exe").parent_path() / "winnow-worker";
    local.state_dir = fs::absolute(flags.state_dir);
    local.log = log;
    absl::StatusOr<std::unique_ptr<LocalWorkers>> started = LocalWorkers::Start(std::move(local));
    if (!started.ok()) return started.status();
    workers = *std::move(started);
    signals.OnSecond([raw = workers.get()] { raw->Kill(); });
  }
  spdlog::info("winnow-server {} listens on {}; database {}; {} local workers of {} slots", WINNOW_VERSION,
               address, flags.db, flags.local_workers, flags.slots);

  signals.WaitForFirst();
  spdlog::info("stopping: local workers hand back their trials");
  (*server)->AnnounceStop();
  if (workers != nullptr) workers->Stop(kWorkersLeave);
  signals.OnSecond(nullptr);
  (*server)->Stop(kCallsEnd);
  // Declared in the order of use, destroyed in the reverse: server, reader, coordinator with the store.
  spdlog::info("stopped");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Takes tuning jobs, decides what to try, and tells workers what to run.", "winnow-server");
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return Misused(error.what());
  }
  if (const std::string problem = Check(flags); !problem.empty()) return Misused(problem);

  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  setenv("GRPC_VERBOSITY", "NONE", 0);  // what goes wrong is told in our words
  spdlog::set_default_logger(spdlog::stderr_logger_mt("winnow-server"));
  spdlog::set_level(flags.log_level);

  Signals signals(set);
  absl::Status status = Serve(std::move(flags), signals);
  if (status.ok()) return 0;
  fmt::print(stderr, "winnow-server: {}\n", std::string(status.message()));
  return 1;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
