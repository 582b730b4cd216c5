// A day of a large cluster through the server's real engine and a real file, in virtual time: 10,000 workers
// of one slot, 1,000,000 trials in consecutive jobs, ten of them open at a time. Time and memory per trial
// must be constant: printed for every tenth of the day, and the last relative to the first.
//
//   build/bin/bench-simulated-day [TRIALS, default 1000000] [WORKERS, default 10000]

#include <fmt/format.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <queue>
#include <vector>

#include "bench/no_op_job.h"
#include "bench/played_engine.h"
#include "scheduler/space/random.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kLeaseUs = 900'000'000;  // a training worker then syncs every five minutes
constexpr int64_t kPrepareUs = 10'000;
constexpr int64_t kOpenJobs = 10;
constexpr int64_t kParts = 10;
constexpr size_t kBatch = 64;  // calls that arrive during the last commit
// Constant: neither may grow beyond this factor from the first part of the day to the last.
constexpr double kMostGrowth = 1.25;

double RssMiB() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return static_cast<double>(resident * sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Counts this process alone.
double CpuMicros() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto micros = [](const timeval& time) {
    return 1e6 * static_cast<double>(time.tv_sec) + time.tv_usec;
  };
  return micros(usage.ru_utime) + micros(usage.ru_stime);
}

// A worker's event: its lease requires a Sync, or its trial has ended.
struct Event {
  int64_t at_us;
  size_t worker;
  bool ends;
  bool operator>(const Event& other) const { return at_us > other.at_us; }
};

class Day {
 public:
  Day(const std::string& file, int64_t trials, size_t workers)
      : trials_(trials),
        per_job_(std::max<int64_t>(1, trials / 100)),
        train_us_(static_cast<double>(kDayUs) * static_cast<double>(workers) / static_cast<double>(trials)),
        engine_(file, kLeaseUs) {
    for (size_t i = 0; i < workers; ++i) workers_.emplace_back(static_cast<int64_t>(i), 1);
    trained_until_.resize(workers);
    // They arrive within the first minute.
    for (size_t i = 0; i < workers; ++i) events_.push({engine_.now_us + Uniform(60'000'000), i, false});
  }

  void Run() {
    for (int64_t i = 0; i < kOpenJobs; ++i) OpenJob();
    fmt::print("{:>10} {:>8} {:>17} {:>13} {:>9} {:>10} {:>10}\n", "trials", "hour", "CPU us per trial",
               "us per trial", "RSS MiB", "Syncs", "open jobs");
    const int64_t part = trials_ / kParts;
    const int64_t day_begin = engine_.now_us;
    auto begin = SteadyClock::now();
    double cpu_begin = CpuMicros();
    while (ended_ < trials_ && !events_.empty()) {
      Step();
      if (ended_ / part <= static_cast<int64_t>(costs_.size())) continue;
      const double us = std::chrono::duration<double, std::micro>(SteadyClock::now() - begin).count();
      const double cpu_us = CpuMicros() - cpu_begin;
      costs_.push_back(cpu_us / static_cast<double>(part));
      memory_.push_back(RssMiB());
      fmt::print("{:>10} {:>8.1f} {:>17.1f} {:>13.1f} {:>9.1f} {:>10} {:>10}\n", ended_,
                 static_cast<double>(engine_.now_us - day_begin) / 3.6e9, costs_.back(),
                 us / static_cast<double>(part), memory_.back(), syncs_, open_jobs_);
      fflush(stdout);
      begin = SteadyClock::now();
      cpu_begin = CpuMicros();
    }
  }

  bool Verdict() const {
    if (costs_.size() < 2) return false;
    const double time = costs_.back() / costs_.front();
    const double memory = memory_.back() / memory_.front();
    fmt::print("\nlast / first: CPU time per trial {:.2f}, memory {:.2f}; goal: at most {:.2f} each\n", time,
               memory, kMostGrowth);
    return time <= kMostGrowth && memory <= kMostGrowth;
  }

 private:
  double Draw() { return RandomUnit(1, 0, Purpose::kSimulation, ++drawn_); }
  int64_t Uniform(int64_t below) { return static_cast<int64_t>(Draw() * static_cast<double>(below)); }

  void OpenJob() {
    if (created_ >= trials_) return;
    const int64_t size = std::min(per_job_, trials_ - created_);
    engine_.Create(NoOpJob(static_cast<int>(size), "", "true"));
    created_ += size;
    ++open_jobs_;
  }

  void Step() {
    // Syncs within a few milliseconds form one batch.
    std::vector<Event> batch;
    while (!events_.empty() && batch.size() < kBatch) {
      batch.push_back(events_.top());
      events_.pop();
    }
    engine_.now_us = std::max(engine_.now_us, batch.back().at_us);
    engine_.Run([&](Engine& engine) {
      for (const Event& event : batch) {
        PlayedWorker& worker = workers_[event.worker];
        if (event.ends) ended_ += static_cast<int64_t>(worker.running.size());
        worker.Tell(engine, event.ends ? 1 : 0, event.ends);
        ++syncs_;
      }
    });
    for (const Event& event : batch) Plan(event.worker);
    while (open_jobs_ > 0 && ended_ >= per_job_ * (closed_jobs_ + 1)) {
      ++closed_jobs_;
      --open_jobs_;
      OpenJob();
    }
  }

  // Plans the worker's next Sync.
  void Plan(size_t i) {
    if (workers_[i].awaits_start()) {
      events_.push({engine_.now_us + kPrepareUs, i, false});
      return;
    }
    const bool trains = !workers_[i].running.empty();
    int64_t& until = trained_until_[i];
    if (trains && until <= engine_.now_us) {
      until = engine_.now_us + static_cast<int64_t>(train_us_ * (0.5 + Draw()));
    }
    const int64_t again = engine_.now_us + kLeaseUs / 3;
    const bool ends = trains && until <= again;
    events_.push({ends ? until : again, i, ends});
  }

  const int64_t trials_;
  const int64_t per_job_;
  const double train_us_;  // keeps the workers busy for a day
  PlayedEngine engine_;
  std::vector<PlayedWorker> workers_;
  std::vector<int64_t> trained_until_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  uint64_t drawn_ = 0;
  int64_t created_ = 0, ended_ = 0, syncs_ = 0, open_jobs_ = 0, closed_jobs_ = 0;
  std::vector<double> costs_, memory_;
};

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  const int64_t trials = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const int64_t workers = argc > 2 ? std::atoll(argv[2]) : 10'000;
  if (trials < 1000 || workers < 1) {
    fmt::print(stderr, "usage: bench-simulated-day [TRIALS, at least 1000] [WORKERS]\n");
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "winnow-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  fmt::print("{} trials on {} workers through the engine, each batch one transaction of a real file.\n\n",
             trials, workers);
  bool flat = false;
  {
    winnow::Day day(folder + "/w.db", trials, static_cast<size_t>(workers));
    day.Run();
    flat = day.Verdict();
  }
  std::filesystem::remove_all(folder);
  return flat ? 0 : 1;
}
