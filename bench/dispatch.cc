// The throughput of trials through a server and one worker on this machine, with a no-op trainer (/bin/echo
// with one metric line; and bench-no-op-trainer, which is forked from a parent), so that all the time is
// Winnow's. Trials per second and the time from a trial's start to its first report, compared with fork and
// exec of /bin/echo alone, one after the other and one on each processor, and with the 14 trials a second of
// Ray Tune's published scalability test (10,000 trials on one machine). A trial that its worker has got
// before a slot is free starts, for this figure, at the end of the trial that had the slot.
//
//   build/bin/bench-dispatch [TRIALS, default 10000] [SLOTS, default 1 and 8]

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/load.h"
#include "bench/no_op_job.h"
#include "tests/support/server_process.h"

namespace winnow {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kRayTrialsPerSecond = 14;
constexpr int32_t kPage = 10'000;

struct Measured {
  double per_second = 0;
  Latencies first_report;  // from the start of the trial, which has its slot then
};

[[noreturn]] void Die(const std::string& what) {
  fmt::print(stderr, "bench-dispatch: {}\n", what);
  std::exit(1);
}

void Check(const grpc::Status& status, const std::string& what) {
  if (!status.ok()) Die(what + ": " + status.error_message());
}

double Since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

double Seconds(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

v1::TuningJobSpec EchoJob(int trials, const std::string& folder) {
  v1::TuningJobSpec spec = NoOpJob(trials, folder, "");
  spec.mutable_trainer()->clear_command();
  spec.mutable_trainer()->add_command("/bin/echo");
  spec.mutable_trainer()->add_command("loss={{x}}");
  return spec;
}

// Returns the time of each trial's first report, by number.
std::vector<double> FirstReports(v1::TuningService::Stub& tuning, const std::string& job, int trials) {
  std::vector<double> first(static_cast<size_t>(trials) + 1, 0);
  v1::QueryMetricsRequest request;
  request.set_job_id(job);
  do {
    grpc::ClientContext context;
    v1::QueryMetricsResponse response;
    Check(tuning.QueryMetrics(&context, request, &response), "QueryMetrics");
    for (const auto& point : response.points()) {
      double& at = first[static_cast<size_t>(point.trial())];
      if (at == 0) at = Seconds(point.time());
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return first;
}

struct Span {
  double start = 0;  // seconds
  double first_report = 0;
  double end = 0;
};

// Returns the milliseconds from each trial's start to its first report. Trials take the slots in the order of
// their starts.
std::vector<double> MsToFirstReport(std::vector<Span> trials, int slots) {
  std::sort(trials.begin(), trials.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (int i = 0; i < slots; ++i) free_at.push(0);
  std::vector<double> ms;
  for (const Span& trial : trials) {
    ms.push_back(1e3 * std::max(0.0, trial.first_report - std::max(trial.start, free_at.top())));
    free_at.pop();
    free_at.push(trial.end);
  }
  return ms;
}

v1::TuningJobSpec ForkedJob(int trials, const std::string& folder) {
  v1::TuningJobSpec spec = EchoJob(trials, folder);
  spec.mutable_trainer()->clear_command();
  spec.mutable_trainer()->add_command(
      (std::filesystem::path(ServerBinary()).parent_path() / "bench-no-op-trainer").string());
  spec.mutable_trainer()->set_warm(v1::TrainerSpec::FORK);
  return spec;
}

// The server, idle then, and its folder stay until `ran` goes: for a minute after many files were deleted,
// ext4 makes new ones slowly (it gives none the number of one just deleted), and the next measurement would
// pay for it.
Measured RunTrials(int trials, int slots, v1::TuningJobSpec (*make_job)(int, const std::string&),
                   std::vector<std::unique_ptr<ServerProcess>>& ran) {
  ran.push_back(std::make_unique<ServerProcess>(
      ServerBinary(), std::vector<std::string>{"--local-workers", "1", "--slots", std::to_string(slots)}));
  ServerProcess& server = *ran.back();
  auto tuning = server.Client();
  v1::TuningJob job;
  const auto begin = SteadyClock::now();
  {
    grpc::ClientContext context;
    v1::CreateTuningJobRequest request;
    *request.mutable_spec() = make_job(trials, server.folder());
    Check(tuning->CreateTuningJob(&context, request, &job), "CreateTuningJob");
  }
  for (bool ended = false; !ended;) {
    grpc::ClientContext context;
    v1::WatchTuningJobRequest request;
    request.set_id(job.id());
    auto stream = tuning->WatchTuningJob(&context, request);
    v1::TuningJobEvent event;
    while (stream->Read(&event)) {
      if (event.has_job() && event.job().has_end_time()) ended = true;
    }
    Check(stream->Finish(), "WatchTuningJob");
  }
  Measured measured;
  measured.per_second = trials / Since(begin);
  const std::vector<double> first = FirstReports(*tuning, job.id(), trials);
  std::vector<Span> spans;
  v1::ListTrialsRequest request;
  request.set_job_id(job.id());
  request.set_page_size(kPage);
  do {
    grpc::ClientContext context;
    v1::ListTrialsResponse response;
    Check(tuning->ListTrials(&context, request, &response), "ListTrials");
    for (const v1::Trial& trial : response.trials()) {
      const double at = first[static_cast<size_t>(trial.number())];
      if (at == 0) Die(fmt::format("trial {} reported nothing", trial.number()));
      spans.push_back({Seconds(trial.start_time()), at, Seconds(trial.end_time())});
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  measured.first_report.ms = MsToFirstReport(std::move(spans), slots);
  if (static_cast<int>(measured.first_report.ms.size()) != trials) Die("trials are missing");
  return measured;
}

// One process after the other, each read to its end.
Measured ForkAndExec(int trials) {
  Measured measured;
  const auto begin = SteadyClock::now();
  for (int i = 0; i < trials; ++i) {
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) Die("pipe failed");
    const auto sent = SteadyClock::now();
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(out[1], 1);
      execl("/bin/echo", "/bin/echo", "loss=0.5", nullptr);
      _exit(127);
    }
    close(out[1]);
    char line[64];
    if (read(out[0], line, sizeof line) <= 0) Die("echo printed nothing");
    measured.first_report.ms.push_back(1e3 * Since(sent));
    while (read(out[0], line, sizeof line) > 0) {
    }
    close(out[0]);
    waitpid(pid, nullptr, 0);
  }
  measured.per_second = trials / Since(begin);
  return measured;
}

// The same on every processor at once.
Measured ForkAndExecEverywhere(int trials) {
  const int processors = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<Measured> measured(processors);
  std::vector<std::thread> threads;
  const auto begin = SteadyClock::now();
  for (Measured& one : measured)
    threads.emplace_back([&one, each = trials / processors] { one = ForkAndExec(each); });
  Measured all;
  for (int i = 0; i < processors; ++i) {
    threads[i].join();
    all.first_report.ms.insert(all.first_report.ms.end(), measured[i].first_report.ms.begin(),
                               measured[i].first_report.ms.end());
  }
  all.per_second = static_cast<double>(all.first_report.ms.size()) / Since(begin);
  return all;
}

void Print(const std::string& who, Measured& measured, double alone) {
  fmt::print("{:<26} {:>9.0f} {:>9.2f} {:>9.2f} {:>11.2f} {:>11.1f}\n", who, measured.per_second,
             measured.first_report.At(0.5), measured.first_report.At(0.99), measured.per_second / alone,
             measured.per_second / kRayTrialsPerSecond);
  fflush(stdout);
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  using winnow::Measured;
  const int trials = argc > 1 ? std::atoi(argv[1]) : 10'000;
  std::vector<int> slots = {1, 8};
  if (argc > 2) slots = {std::atoi(argv[2])};
  if (trials < 1 || slots[0] < 1) {
    fmt::print(stderr, "usage: bench-dispatch [TRIALS] [SLOTS]\n");
    return 2;
  }
  fmt::print(
      "{} trials of /bin/echo on one worker; every step is committed with fsync before the next.\n"
      "/ Ray Tune: against the 14 trials/s of its published scalability test.\n\n",
      trials);
  fmt::print("{:<26} {:>9} {:>9} {:>9} {:>11} {:>11}\n", "", "trials/s", "p50 ms", "p99 ms", "/ fork+exec",
             "/ Ray Tune");
  Measured alone = winnow::ForkAndExec(trials);
  winnow::Print("fork and exec alone", alone, alone.per_second);
  Measured everywhere = winnow::ForkAndExecEverywhere(trials);
  winnow::Print("the same on all processors", everywhere, alone.per_second);
  std::vector<std::unique_ptr<winnow::ServerProcess>> ran;
  for (const int count : slots) {
    const std::string slots_text = fmt::format("{} slot{}", count, count == 1 ? "" : "s");
    Measured measured = winnow::RunTrials(trials, count, winnow::EchoJob, ran);
    winnow::Print("Winnow, " + slots_text, measured, alone.per_second);
    Measured forked = winnow::RunTrials(trials, count, winnow::ForkedJob, ran);
    winnow::Print("forked, " + slots_text, forked, alone.per_second);
  }
}
