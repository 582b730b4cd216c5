// The capacity of the control plane: durable reports per second from simulated workers over real gRPC to a
// real winnow-server on a real file, compared with gRPC alone, one SQLite writer alone and, where one worker
// sends one report a Sync, Optuna's RDB storage on this machine in the same run; the time of a Sync at half
// of the load of many; and the same reports on a PostgreSQL server of its own (Debian's package postgresql,
// if it is installed), alternating with the file.
//
//   build/bin/bench-control-plane [SECONDS per measurement, default 5 [stores]]
//
// "stores": only both stores by turns.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/load.h"
#include "bench/no_op_job.h"
#include "bench/sqlite_writer.h"
#include "store/database/database.h"
#include "tests/support/server_process.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

// Workers that train nothing: each holds one assignment and reports rising levels for it.
class ReportingWorkers {
 public:
  // connect(i): the channel of worker i. REQUIRES: a job of as many trials, or a server that answers without
  // one.
  ReportingWorkers(int count, const std::function<std::shared_ptr<grpc::Channel>(int)>& connect);

  // Syncs each until it holds an assignment. Ends the program if one gets none.
  void Join();
  // Starts a Sync of worker `i` with `reports` reports; calls done(ok). One at a time per worker.
  void Sync(int i, int reports, std::function<void(bool)> done);

  int64_t reported() const;

 private:
  struct Worker {
    std::string id;
    std::string assignment;
    int64_t resource = 0;
    std::unique_ptr<v1::WorkerService::Stub> stub;
    std::unique_ptr<grpc::ClientContext> context;
    v1::SyncRequest request;
    v1::SyncResponse response;
  };
  static void Prepare(Worker& worker, int reports);
  std::vector<Worker> workers_;
};

constexpr int kTries = 200;

ReportingWorkers::ReportingWorkers(int count,
                                   const std::function<std::shared_ptr<grpc::Channel>(int)>& connect)
    : workers_(static_cast<size_t>(count)) {
  for (int i = 0; i < count; ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    worker.id = fmt::format("{:032x}", i + 1);
    worker.stub = v1::WorkerService::NewStub(connect(i));
  }
}

void ReportingWorkers::Prepare(Worker& worker, int reports) {
  FillSync(worker.request, worker.id, worker.assignment, worker.resource, reports);
  worker.resource += reports;
  worker.context = std::make_unique<grpc::ClientContext>();
  worker.context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
}

void ReportingWorkers::Join() {
  for (Worker& worker : workers_) {
    for (int tries = 0; worker.assignment.empty(); ++tries) {
      Prepare(worker, 0);
      const grpc::Status status = worker.stub->Sync(worker.context.get(), worker.request, &worker.response);
      if (!status.ok() || tries == kTries) {
        fmt::print(stderr, "a worker was given no assignment: {}\n", status.error_message());
        std::exit(1);
      }
      if (worker.response.assignments_size() > 0) worker.assignment = worker.response.assignments(0).id();
    }
  }
}

void ReportingWorkers::Sync(int i, int reports, std::function<void(bool)> done) {
  Worker& worker = workers_[static_cast<size_t>(i)];
  Prepare(worker, reports);
  worker.stub->async()->Sync(worker.context.get(), &worker.request, &worker.response,
                             [done = std::move(done)](const grpc::Status& status) { done(status.ok()); });
}

int64_t ReportingWorkers::reported() const {
  int64_t sum = 0;
  for (const Worker& worker : workers_) sum += worker.resource;
  return sum;
}

// A process that answers every Sync with nothing at once: the capacity of gRPC alone on this machine. It is
// this program, started again with one argument, which main passes to Serve.
class EchoServer {
 public:
  static constexpr char kArgument[] = "--echo-server";
  // Serves until standard input ends.
  static void Serve();

  EchoServer();
  ~EchoServer();
  std::string address() const { return address_; }

 private:
  int input_ = -1;
  int pid_ = -1;
  std::string address_;
};

class Echo final : public v1::WorkerService::CallbackService {
  grpc::ServerUnaryReactor* Sync(grpc::CallbackServerContext* context, const v1::SyncRequest*,
                                 v1::SyncResponse*) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

void EchoServer::Serve() {
  Echo service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  auto server = builder.BuildAndStart();
  fmt::print("{}\n", port);
  fflush(stdout);
  while (getchar() != EOF) {
  }
  server->Shutdown(std::chrono::system_clock::now());
}

EchoServer::EchoServer() {
  int in[2], out[2];
  if (pipe(in) != 0 || pipe(out) != 0) std::abort();
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    for (int fd : {in[0], in[1], out[0], out[1]}) close(fd);
    execl("/proc/self/exe", "/proc/self/exe", kArgument, nullptr);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  FILE* from = fdopen(out[0], "r");
  int port = 0;
  if (fscanf(from, "%d", &port) != 1) std::abort();
  fclose(from);
  address_ = fmt::format("127.0.0.1:{}", port);
}

EchoServer::~EchoServer() {
  close(input_);
  waitpid(pid_, nullptr, 0);
}

constexpr int kWorkers = 64;          // those of the goal, each with its own connection
constexpr int kReportsPerSync = 100;  // as collected by a worker during its last Sync
constexpr double kGoalReports = 100'000;
constexpr double kGoalP99Ms = 20;
constexpr double kGoalPostgres = 60'000;
constexpr int kAlternations = 3;
constexpr char kPostgres[] = "WINNOW_TEST_POSTGRES";  // the address, from with_postgres.py

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "bench-control-plane: {}\n", what);
  std::exit(1);
}

std::unique_ptr<Database> OpenOrDie(const std::string& name) {
  auto database = Database::Open(name, OpenMode::kReadWrite);
  if (!database.ok()) Die(std::string(database.status().message()));
  return *std::move(database);
}

// The address of a new schema of the PostgreSQL server.
std::string NewSchema() {
  static int made = 0;
  const std::string schema = fmt::format("bench{}", ++made);
  const std::string address = std::getenv(kPostgres);
  const absl::Status status = OpenOrDie(address)->Execute("CREATE SCHEMA " + schema);
  if (!status.ok()) Die(std::string(status.message()));
  return fmt::format("{}&options=-csearch_path%3D{}", address, schema);
}

std::string StateDir() {
  return (std::filesystem::temp_directory_path() / fmt::format("winnow-bench-{}", getpid())).string();
}

std::vector<std::string> FlagsOf(const std::string& database) {
  std::vector<std::string> flags = {"--local-workers", "0", "--lease", "120", "--rate-limit", "0"};
  if (!database.empty()) {
    flags.insert(flags.end(), {"--db", database, "--state-dir", StateDir()});
  }
  return flags;
}

// A server with a job for `workers`, and workers that have joined it. `database`: "": a new file.
struct Running {
  explicit Running(int workers, const std::string& address = "")
      : database(address), server(ServerBinary(), FlagsOf(address)) {
    auto tuning = server.Client();
    grpc::ClientContext context;
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = NoOpJob(workers, server.folder(), "echo loss={{x}}");
    v1::TuningJob job;
    const grpc::Status status = tuning->CreateTuningJob(&context, request, &job);
    if (!status.ok()) Die("CreateTuningJob: " + status.error_message());
    // Beyond 64 they share connections, to stay within the limits on files.
    clients =
        std::make_unique<ReportingWorkers>(workers, [this](int i) { return server.Connect(i % kWorkers); });
    clients->Join();
  }

  // Checks that every acknowledged report is stored.
  void CheckStored() {
    server.Stop();
    const int64_t stored = database.empty() ? CountReports(server.database())
                                            : *OpenOrDie(database)->QueryInt("SELECT COUNT(*) FROM reports");
    if (stored != clients->reported())
      Die(fmt::format("{} reports acknowledged, {} stored", clients->reported(), stored));
  }

  const std::string database;
  ServerProcess server;
  std::unique_ptr<ReportingWorkers> clients;
};

Load CloseLoop(ReportingWorkers& clients, int workers, int reports, double seconds) {
  const Load load =
      RunClosedLoop(workers, seconds, [&](int i, auto done) { clients.Sync(i, reports, std::move(done)); });
  if (load.failures > 0) Die(fmt::format("{} Syncs failed", load.failures));
  return load;
}

Load EchoLoad(int workers, int reports, double seconds) {
  EchoServer server;
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < std::min(workers, kWorkers); ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(
        grpc::CreateCustomChannel(server.address(), grpc::InsecureChannelCredentials(), arguments));
  }
  ReportingWorkers clients(workers,
                           [&](int i) { return channels[static_cast<size_t>(i) % channels.size()]; });
  return CloseLoop(clients, workers, reports, seconds);
}

// Reports per second of optuna.storages.RDBStorage on a SQLite file; 0 if Optuna is not installed.
double OptunaReports(const std::string& folder, double seconds) {
  const std::string command =
      fmt::format("/usr/bin/python3 {}/bench/optuna_storage.py {}/optuna.db {} 2>/dev/null",
                  WINNOW_SOURCE_DIR, folder, seconds);
  FILE* pipe = popen(command.c_str(), "r");
  double rate = 0;
  if (pipe == nullptr || fscanf(pipe, "%lf", &rate) != 1) rate = 0;
  if (pipe != nullptr) pclose(pipe);
  return rate;
}

void PrintHeader() {
  fmt::print("{:>8} {:>13} {:>10} {:>12} {:>9} {:>9} {:>15} {:>17}\n", "workers", "reports/Sync", "Syncs/s",
             "reports/s", "p50 ms", "p99 ms", "/ gRPC alone", "/ writer alone");
}

// Returns the reports per second.
double BenchThroughput(int workers, int reports, double seconds) {
  Running running(workers);
  const Load load = CloseLoop(*running.clients, workers, reports, seconds);
  running.CheckStored();
  const Load echo = EchoLoad(workers, reports, seconds / 2);
  const double rate = load.calls_per_second * reports;
  const double writer =
      SqliteWriterRowsPerSecond(running.server.folder(), reports * std::min(workers, kWorkers), seconds / 2);
  fmt::print("{:>8} {:>13} {:>10.0f} {:>12.0f} {:>9.2f} {:>9.2f} {:>15.2f} {:>17.2f}\n", workers, reports,
             load.calls_per_second, rate, load.p50_ms, load.p99_ms,
             load.calls_per_second / echo.calls_per_second, rate / writer);
  fflush(stdout);
  return rate;
}

// `single`: the reports per second of one worker that sends one in each Sync, as Optuna's storage takes them.
void BenchGoals(double single, double seconds) {
  const double rate = BenchThroughput(kWorkers, kReportsPerSync, seconds);
  Running running(kWorkers);
  const double calls_per_second = rate / 2 / kReportsPerSync;
  const Load load = RunOpenLoop(kWorkers, calls_per_second, seconds, [&](int i, auto done) {
    running.clients->Sync(i, kReportsPerSync, std::move(done));
  });
  if (load.failures > 0) Die(fmt::format("{} Syncs failed", load.failures));
  running.CheckStored();
  const double optuna = OptunaReports(running.server.folder(), seconds);
  fmt::print(
      "\n{} workers, {} reports a Sync, all durable\n"
      "  {:.0f} reports/s; goal {:.0f}: {:.2f} of it\n"
      "  at half that load, offered at a fixed rate ({:.0f} of {:.0f} Syncs/s came), counted from when each "
      "was\n"
      "  due: p50 {:.2f} ms, p99 {:.2f} ms; goal {:.0f} ms: {:.2f} of it\n",
      kWorkers, kReportsPerSync, rate, kGoalReports, rate / kGoalReports, load.calls_per_second,
      calls_per_second, load.p50_ms, load.p99_ms, kGoalP99Ms, load.p99_ms / kGoalP99Ms);
  if (optuna > 0) {
    fmt::print(
        "\none process, one report a call\n"
        "  Optuna's RDB storage, SQLite: {:.0f} reports/s; Winnow's divided by it: {:.1f}\n"
        "  {} workers with {} reports a Sync have {:.0f} times the reports of one with one\n",
        optuna, single / optuna, kWorkers, kReportsPerSync, rate / single);
  } else {
    fmt::print("  Optuna's RDB storage: not installed for /usr/bin/python3\n");
  }
}

// Reports per second of one server.
double StoreRate(const std::string& database, double seconds) {
  Running running(kWorkers, database);
  const Load load = CloseLoop(*running.clients, kWorkers, kReportsPerSync, seconds);
  running.CheckStored();
  return load.calls_per_second * kReportsPerSync;
}

// Both stores by turns.
void BenchStores(double seconds) {
  if (std::getenv(kPostgres) == nullptr) {
    fmt::print("\nPostgreSQL: its server is not installed (Debian's package postgresql)\n");
    return;
  }
  std::vector<double> file, postgres;
  for (int i = 0; i < kAlternations; ++i) {
    file.push_back(StoreRate("", seconds));
    postgres.push_back(StoreRate(NewSchema(), seconds));
    std::filesystem::remove_all(StateDir());
  }
  std::sort(file.begin(), file.end());
  std::sort(postgres.begin(), postgres.end());
  const double middle = postgres[postgres.size() / 2];
  fmt::print(
      "\nboth stores by turns, {} workers, {} reports a Sync, all durable: median of {} ({} to {})\n"
      "  SQLite {:.0f} reports/s ({:.0f} to {:.0f})\n"
      "  PostgreSQL {:.0f} reports/s ({:.0f} to {:.0f}): {:.2f} of SQLite; goal {:.0f}: {:.2f} of it\n",
      kWorkers, kReportsPerSync, kAlternations, "lowest", "highest", file[file.size() / 2], file.front(),
      file.back(), middle, postgres.front(), postgres.back(), middle / file[file.size() / 2], kGoalPostgres,
      middle / kGoalPostgres);
}

// Starts this program again with a PostgreSQL server, if there is none yet and one is installed.
void StartPostgres(char** argv) {
  if (std::getenv(kPostgres) != nullptr || access("/usr/lib/postgresql", F_OK) != 0) return;
  const std::string script = WINNOW_SOURCE_DIR "/tests/support/with_postgres.py";
  std::vector<char*> arguments = {const_cast<char*>(script.c_str()), const_cast<char*>("--durable")};
  for (; *argv != nullptr; ++argv) arguments.push_back(*argv);
  arguments.push_back(nullptr);
  execv(script.c_str(), arguments.data());
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == winnow::EchoServer::kArgument) {
    winnow::EchoServer::Serve();
    return 0;
  }
  const bool stores_only = argc > 2 && std::string(argv[2]) == "stores";
  const double seconds = argc > 1 ? std::atof(argv[1]) : 5;
  if (!(seconds > 0)) {
    fmt::print(stderr, "usage: bench-control-plane [SECONDS per measurement [stores]]\n");
    return 2;
  }
  winnow::StartPostgres(argv);
  if (stores_only) {
    winnow::BenchStores(seconds);
    return 0;
  }
  fmt::print(
      "Sync over gRPC on loopback, every answer after its commit (WAL, synchronous=FULL).\n"
      "/ gRPC alone: against a server that answers the same Syncs with nothing.\n"
      "/ writer alone: reports per second against one SQLite writer inserting the same rows with as many per "
      "commit.\n\n");
  winnow::PrintHeader();
  const double single = winnow::BenchThroughput(1, 1, seconds / 2);
  winnow::BenchThroughput(1, 100, seconds / 2);
  for (int workers : {100, 1000})
    for (int reports : {1, 100}) winnow::BenchThroughput(workers, reports, seconds / 2);
  winnow::BenchGoals(single, seconds);
  winnow::BenchStores(seconds);
}
