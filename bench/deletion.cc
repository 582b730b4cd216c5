// How long others wait while a large job is deleted: the time of a Sync before
// and during the deletion, in which the server removes the rows in slices; compared with one transaction that
// deletes the same rows, in which everybody would wait.
//
//   build/bin/bench-deletion [TRIALS, default 100000]

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "bench/load.h"
#include "bench/no_op_job.h"
#include "bench/played_engine.h"
#include "tests/support/server_process.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int kSlots = 1000;
constexpr int kReports = 3;  // of each trial
constexpr double kCalmSeconds = 5;
constexpr double kMostSeconds = 600;

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

[[noreturn]] void Die(const std::string& why) {
  fmt::print(stderr, "bench-deletion: {}\n", why);
  std::exit(1);
}

// An ended job of so many trials. Returns its id.
std::string Fill(const std::string& file, int trials) {
  PlayedEngine play(file, 3'600'000'000);
  PlayedWorker worker(0, kSlots);
  const std::string id = play.Create(NoOpJob(trials, "", "true"));
  for (int done = 0; done < trials; done += kSlots) {
    play.Run([&](Engine& engine) { worker.Tell(engine, 0, false); });
    play.now_us += 1'000'000;
    play.Run([&](Engine& engine) { worker.Tell(engine, kReports, true); });
    play.Run([&](Engine& engine) { worker.Tell(engine, 0, false); });
  }
  const auto row = play.store().jobs.Find(id);
  if (!row.ok() || !*row || (*row)->end_us == 0) Die("the job has not ended");
  return id;
}

int64_t JobsIn(const std::string& file) {
  const auto store = Store::OpenReadOnly(file);
  const auto jobs = (*store)->database().QueryInt("SELECT COUNT(*) FROM jobs");
  if (!jobs.ok()) Die(std::string(jobs.status().message()));
  return *jobs;
}

// A worker whose calls are answered at once, each after its commit.
class Caller {
 public:
  explicit Caller(ServerProcess& server) : stub_(v1::WorkerService::NewStub(server.Connect(0))) {}

  void Call(Latencies& latencies) {
    v1::SyncRequest request;
    request.set_worker_id(std::string(32, 'f'));
    request.set_name("caller");
    request.set_slots(1);
    v1::SyncResponse response;
    grpc::ClientContext context;
    const auto begin = SteadyClock::now();
    const grpc::Status status = stub_->Sync(&context, request, &response);
    if (!status.ok()) Die("Sync: " + status.error_message());
    latencies.ms.push_back(1000 * Since(begin));
  }

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
};

void Measure(int trials) {
  std::string folder = (fs::temp_directory_path() / "winnow-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) std::abort();
  const std::string file = folder + "/w.db", copy = folder + "/copy.db";
  const std::string id = Fill(file, trials);
  fs::copy_file(file, copy);

  double at_once = 0;
  {
    auto store = Store::Open(copy);
    const int64_t key = (*(*store)->jobs.Find(id))->key;
    const auto begin = SteadyClock::now();
    if (!(*store)->jobs.Delete(key).ok()) Die("the copy's job cannot be deleted");
    at_once = Since(begin);
  }

  ServerProcess server(ServerBinary(), {"--db", file, "--local-workers", "0", "--rate-limit", "0"});
  Caller caller(server);
  Latencies calm, during;
  for (auto begin = SteadyClock::now(); Since(begin) < kCalmSeconds;) caller.Call(calm);
  v1::DeleteTuningJobRequest request;
  request.set_id(id);
  v1::DeleteTuningJobResponse response;
  grpc::ClientContext context;
  const auto begin = SteadyClock::now();
  const grpc::Status status = server.Client()->DeleteTuningJob(&context, request, &response);
  if (!status.ok()) Die("DeleteTuningJob: " + status.error_message());
  const double call_ms = 1000 * Since(begin);
  while (JobsIn(file) > 0) {
    for (int i = 0; i < 100; ++i) caller.Call(during);
    if (Since(begin) > kMostSeconds) Die("the rows are not removed");
  }
  const double took = Since(begin);
  fmt::print(
      "{} trials of {} reports\n"
      "  a Sync before: p50 {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms\n"
      "  a Sync during the deletion ({:.1f} s): p50 {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms; p99 {:.2f} "
      "of "
      "that before\n"
      "  DeleteTuningJob was answered after {:.2f} ms\n"
      "  one transaction that deletes the same rows: {:.2f} s; the longest Sync is {:.4f} of that\n",
      trials, kReports, calm.At(0.5), calm.At(0.99), calm.At(1), took, during.At(0.5), during.At(0.99),
      during.At(1), during.At(0.99) / calm.At(0.99), call_ms, at_once, during.At(1) / 1000 / at_once);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  const int trials = argc > 1 ? std::atoi(argv[1]) : 100'000;
  if (trials < winnow::kSlots) {
    fmt::print(stderr, "usage: bench-deletion [TRIALS, at least {}]\n", winnow::kSlots);
    return 2;
  }
  winnow::Measure(trials);
}
