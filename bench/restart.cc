// The time from fork of a winnow-server on a database to its first answered Sync, compared with opening the
// same file with sqlite3 and counting its reports; the file is in the page cache. Shapes: one open job whose
// trials all train, and ended jobs with one that is open.
//
//   build/bin/bench-restart [REPORTS…, default 10000 1000000]

#include <arpa/inet.h>
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/no_op_job.h"
#include "bench/played_engine.h"
#include "bench/sqlite_writer.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kLeaseUs = 3'600'000'000;
constexpr int kReportsPerSync = 10;
constexpr int kRuns = 5;

struct Goal {
  int64_t reports;
  double seconds;
};
constexpr Goal kGoals[] = {{10'000, 0.2}, {1'000'000, 2}};

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

// An open job with as many trials as reports per trial.
void FillOpen(const std::string& file, int64_t reports) {
  PlayedEngine play(file, kLeaseUs);
  const auto side = static_cast<int>(std::sqrt(static_cast<double>(reports)));
  v1::TuningJobSpec spec = NoOpJob(side, "", "true");
  spec.mutable_limits()->set_max_trial_resource(2 * reports);
  play.Create(spec);
  PlayedWorker worker(0, side);
  play.Run([&](Engine& engine) { worker.Tell(engine, 0, false); });
  for (int64_t done = 0; done < reports; done += side * kReportsPerSync) {
    play.now_us += 1'000'000;
    play.Run([&](Engine& engine) { worker.Tell(engine, kReportsPerSync, false); });
  }
}

// Ended jobs of 10 trials of 100 reports, and an open one.
void FillEnded(const std::string& file, int64_t reports) {
  constexpr int kTrials = 10;
  constexpr int kReports = 100;
  PlayedEngine play(file, kLeaseUs);
  PlayedWorker worker(0, kTrials);
  for (int64_t done = 0; done < reports; done += kTrials * kReports) {
    play.Create(NoOpJob(kTrials, "", "true"));
    play.Run([&](Engine& engine) { worker.Tell(engine, 0, false); });
    play.now_us += 1'000'000;
    play.Run([&](Engine& engine) { worker.Tell(engine, kReports, true); });
    play.Run([&](Engine& engine) { worker.Tell(engine, 0, false); });
  }
  play.Create(NoOpJob(kTrials, "", "true"));
}

int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) std::abort();
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  close(fd);
  return ntohs(address.sin_port);
}

// Waits until there is a listener.
void AwaitPort(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  while (true) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const bool there = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    if (there) return;
    usleep(500);
  }
}

double SecondsToFirstSync(const std::string& file) {
  const int port = FreePort();
  const std::string listen = fmt::format("127.0.0.1:{}", port);
  const std::string binary = ServerBinary();
  const auto begin = SteadyClock::now();
  const pid_t pid = fork();
  if (pid == 0) {
    execl(binary.c_str(), binary.c_str(), "--db", file.c_str(), "--listen", listen.c_str(), "--http", "off",
          "--local-workers", "0", "--log-level", "error", nullptr);
    _exit(127);
  }
  AwaitPort(port);
  auto stub = v1::WorkerService::NewStub(grpc::CreateChannel(listen, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(5));
  v1::SyncRequest request;
  request.set_worker_id(std::string(32, 'f'));
  request.set_name("prober");
  request.set_slots(1);
  v1::SyncResponse response;
  const grpc::Status status = stub->Sync(&context, request, &response);
  const double seconds = Since(begin);
  kill(pid, SIGTERM);
  waitpid(pid, nullptr, 0);
  if (!status.ok()) {
    fmt::print(stderr, "bench-restart: Sync: {}\n", status.error_message());
    std::exit(1);
  }
  return seconds;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void Measure(const char* shape, int64_t reports, void (*fill)(const std::string&, int64_t)) {
  std::string folder = (fs::temp_directory_path() / "winnow-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::abort();
  const std::string file = folder + "/w.db";
  fill(file, reports);
  std::vector<double> starts, counts;
  int64_t stored = 0;
  for (int run = 0; run < kRuns; ++run) {
    starts.push_back(SecondsToFirstSync(file));
    const auto begin = SteadyClock::now();
    stored = CountReports(file);
    counts.push_back(Since(begin));
  }
  const double start = Median(starts);
  std::string goal = "-";
  for (const Goal& g : kGoals) {
    if (g.reports == reports) goal = fmt::format("{:.1f} s: {:.2f} of it", g.seconds, start / g.seconds);
  }
  fmt::print("{:<10} {:>9} {:>8.1f} {:>10.3f} {:>13.3f} {:>8.1f}   {}\n", shape, stored,
             static_cast<double>(fs::file_size(file)) / (1 << 20), start, Median(counts),
             start / Median(counts), goal);
  std::fflush(stdout);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  std::vector<int64_t> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {10'000, 1'000'000};
  fmt::print(
      "Start of winnow-server to its first answered Sync, median of {}; ratio: against opening the file with "
      "sqlite3 and counting its reports.\n\n",
      winnow::kRuns);
  fmt::print("{:<10} {:>9} {:>8} {:>10} {:>13} {:>8}   {}\n", "jobs", "reports", "MiB", "start s",
             "sqlite3 s", "ratio", "goal");
  for (const int64_t reports : sizes) {
    if (reports < 1000) {
      fmt::print(stderr, "usage: bench-restart [REPORTS…, each at least 1000]\n");
      return 2;
    }
    winnow::Measure("one, open", reports, winnow::FillOpen);
    winnow::Measure("ended", reports, winnow::FillEnded);
  }
}
