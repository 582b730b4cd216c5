// What the control plane carries: durable reports per second and the latency of Sync for 1, 100 and 1,000
// simulated workers over real gRPC against a real winnow-server on a real file, beside what gRPC alone and
// one SQLite writer alone do on this machine in the same run; and the time from a trial's start to its first
// metric, beside fork and exec alone.
//
//   build/bin/bench-control-plane [SECONDS per line, default 3]

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/sqlite_writer.h"
#include "tests/support/server_process.h"
#include "winnow/v1/tuning.grpc.pb.h"
#include "winnow/v1/worker.grpc.pb.h"

namespace winnow {
namespace {

using Clock = std::chrono::steady_clock;

struct Latencies {
  std::vector<double> ms;
  double At(double quantile) {
    if (ms.empty()) return 0;
    size_t k = std::min(ms.size() - 1, static_cast<size_t>(quantile * ms.size()));
    std::nth_element(ms.begin(), ms.begin() + k, ms.end());
    return ms[k];
  }
};

struct Load {
  double calls_per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  int64_t failures = 0;
};

// Keeps `callers` calls outstanding for `seconds`; each caller calls again when its answer came.
// Call(caller, done): starts one call; done(ok) must be called once.
template <typename Call>
Load RunClosedLoop(int callers, double seconds, Call call) {
  std::mutex mutex;
  std::condition_variable idle;
  int outstanding = callers;
  Latencies latencies;
  std::atomic<int64_t> failures = 0;
  auto begin = Clock::now();
  auto end = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::function<void(int)> start = [&](int caller) {
    auto sent = Clock::now();
    call(caller, [&, caller, sent](bool ok) {
      auto now = Clock::now();
      if (!ok) ++failures;
      {
        std::lock_guard lock(mutex);
        latencies.ms.push_back(std::chrono::duration<double, std::milli>(now - sent).count());
        if (now >= end) {
          if (--outstanding == 0) idle.notify_all();
          return;
        }
      }
      start(caller);
    });
  };
  for (int caller = 0; caller < callers; ++caller) start(caller);
  std::unique_lock lock(mutex);
  idle.wait(lock, [&] { return outstanding == 0; });
  double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  return {latencies.ms.size() / elapsed, latencies.At(0.5), latencies.At(0.99), failures};
}

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "bench-control-plane: {}\n", what);
  std::exit(1);
}

void Check(const grpc::Status& status, const std::string& what) {
  if (!status.ok()) Die(what + ": " + status.error_message());
}

// A worker that trains nothing: it holds one assignment and reports rising levels under it.
struct SimulatedWorker {
  std::string id;
  std::string assignment;
  int64_t resource = 0;
  std::unique_ptr<v1::WorkerService::Stub> stub;
  std::unique_ptr<grpc::ClientContext> context;
  v1::SyncRequest request;
  v1::SyncResponse response;

  void Prepare(int reports) {
    request.Clear();
    request.set_worker_id(id);
    request.set_name("w-" + id);
    request.set_host("127.0.0.1");
    request.set_slots(1);
    request.set_storage_id("bench");
    if (!assignment.empty()) {
      auto* running = request.add_running();
      running->set_assignment_id(assignment);
      running->set_state(v1::RunningAssignment::RUNNING);
    }
    for (int i = 0; i < reports; ++i) {
      auto* report = request.add_reports();
      report->set_assignment_id(assignment);
      report->set_resource(++resource);
      auto* metric = report->add_metrics();
      metric->set_name("loss");
      metric->set_value(1.0 / resource);
    }
    context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  }
};

std::string ServerBinary() {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "winnow-server").string();
}

v1::TuningJobSpec NoOpJob(int trials, const std::string& folder, const std::string& command) {
  v1::TuningJobSpec spec;
  spec.set_name("bench");
  spec.mutable_trainer()->add_command("/bin/sh");
  spec.mutable_trainer()->add_command("-c");
  spec.mutable_trainer()->add_command(command);
  auto* metric = spec.mutable_trainer()->add_metrics();
  metric->set_name("loss");
  metric->set_regex("loss=([0-9.]+)");
  auto* parameter = spec.add_parameters();
  parameter->set_name("x");
  parameter->mutable_continuous()->set_max(1);
  spec.mutable_objective()->set_metric("loss");
  spec.mutable_objective()->set_goal(v1::MINIMIZE);
  spec.set_strategy(v1::RANDOM);
  spec.mutable_limits()->set_max_trials(trials);
  spec.set_working_directory(folder);
  return spec;
}

void BenchReports(int workers, int reports_per_sync, double seconds) {
  ServerProcess server(ServerBinary(), {"--local-workers", "0", "--lease", "120"});
  auto tuning = server.Client();
  {
    grpc::ClientContext context;
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = NoOpJob(workers, server.folder(), "echo loss={{x}}");
    v1::TuningJob job;
    Check(tuning->CreateTuningJob(&context, request, &job), "CreateTuningJob");
  }
  std::vector<SimulatedWorker> simulated(workers);
  // A channel each up to 64, as real workers would have; beyond that they share, to stay within file limits.
  for (int i = 0; i < workers; ++i) {
    simulated[i].id = fmt::format("{:032x}", i + 1);
    simulated[i].stub = v1::WorkerService::NewStub(server.Connect(i % 64));
    for (int tries = 0; simulated[i].assignment.empty(); ++tries) {
      if (tries == 100) Die("a simulated worker was given no assignment");
      simulated[i].Prepare(0);
      Check(simulated[i].stub->Sync(simulated[i].context.get(), simulated[i].request, &simulated[i].response),
            "Sync");
      if (simulated[i].response.assignments_size() > 0)
        simulated[i].assignment = simulated[i].response.assignments(0).id();
    }
  }
  Load load = RunClosedLoop(workers, seconds, [&](int caller, auto done) {
    auto& worker = simulated[caller];
    worker.Prepare(reports_per_sync);
    worker.stub->async()->Sync(worker.context.get(), &worker.request, &worker.response,
                               [done](const grpc::Status& status) { done(status.ok()); });
  });
  if (load.failures > 0) Die(fmt::format("{} Syncs failed", load.failures));

  // Every acknowledged report must be there.
  int64_t acknowledged = 0;
  for (auto& worker : simulated) acknowledged += worker.resource;

  std::vector<std::unique_ptr<grpc::ClientContext>> contexts(workers);
  std::vector<std::unique_ptr<v1::TuningService::Stub>> stubs(workers);
  for (int i = 0; i < workers; ++i) stubs[i] = v1::TuningService::NewStub(server.Connect(i % 64));
  v1::DescribeTuningJobRequest missing;
  missing.set_id("nothing-of-this-name");
  std::vector<v1::TuningJob> jobs(workers);
  Load bare = RunClosedLoop(workers, seconds / 2, [&](int caller, auto done) {
    contexts[caller] = std::make_unique<grpc::ClientContext>();
    stubs[caller]->async()->DescribeTuningJob(
        contexts[caller].get(), &missing, &jobs[caller],
        [done](const grpc::Status& status) { done(status.error_code() == grpc::StatusCode::NOT_FOUND); });
  });
  server.Stop();
  int64_t stored = CountReports(server.database());
  if (stored != acknowledged) Die(fmt::format("{} reports acknowledged, {} stored", acknowledged, stored));

  double per_second = load.calls_per_second * reports_per_sync;
  double writer =
      SqliteWriterRowsPerSecond(server.folder(), reports_per_sync * std::min(workers, 64), seconds / 2);
  fmt::print("{:>8} {:>13} {:>10.0f} {:>12.0f} {:>9.2f} {:>9.2f} {:>15.2f} {:>17.2f}\n", workers,
             reports_per_sync, load.calls_per_second, per_second, load.p50_ms, load.p99_ms,
             load.calls_per_second / bare.calls_per_second, per_second / writer);
  std::fflush(stdout);
}

void BenchTrialStart(int trials) {
  ServerProcess server(ServerBinary(), {"--local-workers", "1", "--slots", "1"});
  auto tuning = server.Client();
  const std::string command = "echo loss={{x}}";
  v1::TuningJob job;
  {
    grpc::ClientContext context;
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = NoOpJob(trials, server.folder(), command);
    Check(tuning->CreateTuningJob(&context, request, &job), "CreateTuningJob");
  }
  auto begin = Clock::now();
  {
    grpc::ClientContext context;
    v1::WatchTuningJobRequest request;
    request.set_id(job.id());
    auto stream = tuning->WatchTuningJob(&context, request);
    v1::TuningJobEvent event;
    while (stream->Read(&event)) {
    }
    Check(stream->Finish(), "WatchTuningJob");
  }
  double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
  auto seconds_of = [](const google::protobuf::Timestamp& time) {
    return time.seconds() + time.nanos() * 1e-9;
  };
  v1::ListTrialsResponse list;
  v1::QueryMetricsResponse metrics;
  {
    grpc::ClientContext context;
    v1::ListTrialsRequest request;
    request.set_job_id(job.id());
    request.set_page_size(trials);
    Check(tuning->ListTrials(&context, request, &list), "ListTrials");
  }
  {
    grpc::ClientContext context;
    v1::QueryMetricsRequest request;
    request.set_job_id(job.id());
    Check(tuning->QueryMetrics(&context, request, &metrics), "QueryMetrics");
  }
  std::vector<double> first(trials + 1, -1);
  for (const auto& point : metrics.points())
    if (first[point.trial()] < 0) first[point.trial()] = seconds_of(point.time());
  Latencies start_to_metric;
  for (const auto& trial : list.trials()) {
    if (first[trial.number()] < 0) Die("a trial reported nothing");
    start_to_metric.ms.push_back(1e3 * (first[trial.number()] - seconds_of(trial.start_time())));
  }
  Latencies alone;
  for (int i = 0; i < trials; ++i) {
    auto sent = Clock::now();
    FILE* pipe = popen("exec /bin/sh -c 'echo loss=0.5'", "r");
    char line[64];
    if (pipe == nullptr || std::fgets(line, sizeof line, pipe) == nullptr) Die("popen failed");
    alone.ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - sent).count());
    pclose(pipe);
  }
  fmt::print(
      "\nTrial placed -> its first metric read by the worker, {} trials of a no-op shell trainer, one slot\n"
      "  Winnow        p50 {:.2f} ms   p99 {:.2f} ms   ({:.0f} trials/s, each committed with fsync)\n"
      "  popen alone   p50 {:.2f} ms   p99 {:.2f} ms\n"
      "  ratio of p50  {:.1f}\n",
      trials, start_to_metric.At(0.5), start_to_metric.At(0.99), trials / elapsed, alone.At(0.5),
      alone.At(0.99), start_to_metric.At(0.5) / alone.At(0.5));
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  double seconds = argc > 1 ? std::atof(argv[1]) : 3;
  if (!(seconds > 0)) {
    fmt::print(stderr, "usage: bench-control-plane [SECONDS per line]\n");
    return 2;
  }
  fmt::print(
      "Sync over gRPC on loopback, every answer after its commit (WAL, synchronous=FULL).\n"
      "/ gRPC alone: Syncs per second against an empty look-up on the same server with the same callers.\n"
      "/ writer alone: reports per second against one SQLite writer inserting the same rows with as many per "
      "commit.\n\n");
  fmt::print("{:>8} {:>13} {:>10} {:>12} {:>9} {:>9} {:>15} {:>17}\n", "workers", "reports/Sync", "Syncs/s",
             "reports/s", "p50 ms", "p99 ms", "/ gRPC alone", "/ writer alone");
  for (int workers : {1, 100, 1000})
    for (int reports : {1, 100}) winnow::BenchReports(workers, reports, seconds);
  winnow::BenchTrialStart(300);
}
