#include "server/engine/metrics.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

namespace winnow {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// For durations that are usually a fraction of a millisecond.
const prometheus::Histogram::BucketBoundaries kShort = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                                        0.025,  0.05,    0.1,    0.25,  0.5,    1,     2.5};
// For durations that may include waiting.
const prometheus::Histogram::BucketBoundaries kLong = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                       0.25,   0.5,   1,      2.5,   5,    10,    30,   60};

prometheus::Histogram& Times(prometheus::Registry& registry, const std::string& name, const std::string& help,
                             const prometheus::Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, buckets);
}

using Labels = std::vector<ClientMetric::Label>;

MetricFamily Family(const std::string& name, const std::string& help, MetricType type) {
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

void Add(MetricFamily& family, const Labels& labels, double value) {
  ClientMetric& metric = family.metric.emplace_back();
  metric.label = labels;
  (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

void AddByName(MetricFamily& family, const std::string& label, const std::map<std::string, int64_t>& values) {
  for (const auto& [name, value] : values) Add(family, {{label, name}}, static_cast<double>(value));
}

double Seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds(time);
}

double ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  double size = 0, resident = 0;
  return file >> size >> resident ? resident * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  return error ? 0
               : static_cast<double>(std::distance(begin(files), end(files)) - 1);  // but the one that looks
}

}  // namespace

Metrics::Metrics()
    : calls_(prometheus::BuildHistogram()
                 .Name("winnow_call_duration_seconds")
                 .Help("Time of calls over gRPC and HTTP, from arrival to end, including waits and streams")
                 .Register(registry_)),
      sync(Times(registry_, "winnow_sync_duration_seconds",
                 "Time from the arrival of a worker's Sync until its content is committed, without the wait "
                 "for a response",
                 kShort)),
      batch(Times(registry_, "winnow_batch_duration_seconds",
                  "Time of a batch of calls in one transaction, including its commit", kShort)),
      commit(Times(registry_, "winnow_commit_duration_seconds", "Time of the commit of a batch, to disk",
                   kShort)),
      dispatch(Times(
          registry_, "winnow_dispatch_duration_seconds",
          "Time from the placement of a trial until all its workers have reported that they run it", kLong)),
      suggest(Times(registry_, "winnow_suggest_duration_seconds",
                    "Time of one suggestion by a job's search model", kLong)) {
  prometheus::BuildGauge()
      .Name("winnow_build_info")
      .Help("1; the label is the server's version")
      .Register(registry_)
      .Add({{"version", WINNOW_VERSION}})
      .Set(1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  AddGauge("process_start_time_seconds", "Start time of the server, since the Unix epoch",
           [started = std::chrono::duration<double>(now).count()] { return started; });
  AddGauge("process_resident_memory_bytes", "Resident memory of the server", ResidentBytes);
  AddGauge("process_open_fds", "Open files and sockets of the server", OpenFiles);
}

void Metrics::AddGauge(const std::string& name, const std::string& help, std::function<double()> read) {
  gauges_.emplace_back(&prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add({}),
                       std::move(read));
}

prometheus::Histogram& Metrics::Calls(const std::string& service, const std::string& method,
                                      const std::string& code) {
  return calls_.Add({{"service", service}, {"method", method}, {"code", code}}, kLong);
}

void Metrics::Put(StateCounts counts) {
  MutexLock lock(mutex_);
  counts_ = std::move(counts);
}

std::vector<MetricFamily> Metrics::Standing() {
  StateCounts counts;
  {
    MutexLock lock(mutex_);
    counts = counts_;
  }
  std::vector<MetricFamily> families;
  MetricFamily& workers = families.emplace_back(
      Family("winnow_workers", "Connected workers, and whether they get trials", MetricType::Gauge));
  for (const auto& [kind, count] : counts.workers) {
    Add(workers, {{"state", kind.first}, {"scheduling", kind.second}}, static_cast<double>(count));
  }
  Add(families.emplace_back(Family("winnow_slots", "Slots of the connected workers", MetricType::Gauge)), {},
      static_cast<double>(counts.slots));
  Add(families.emplace_back(Family("winnow_slots_used", "Slots in use by trials", MetricType::Gauge)), {},
      static_cast<double>(counts.used_slots));
  AddByName(families.emplace_back(Family("winnow_jobs", "Jobs that have not ended", MetricType::Gauge)),
            "state", counts.jobs);
  AddByName(
      families.emplace_back(Family("winnow_trials", "Trials of jobs that have not ended", MetricType::Gauge)),
      "state", counts.trials);
  MetricFamily& costs = families.emplace_back(
      Family("winnow_job_cost", "What the ranks of a job that has not ended have cost", MetricType::Gauge));
  for (const auto& [job, cost] : counts.job_costs) Add(costs, {{"job", job}}, cost);
  AddByName(families.emplace_back(Family("winnow_jobs_ended_total",
                                         "Jobs that ended since the server's start", MetricType::Counter)),
            "state", counts.ended_jobs);
  AddByName(families.emplace_back(Family("winnow_reports_total",
                                         "Workers' reports since the server's start: accepted, already known "
                                         "(duplicate), of an assignment that is "
                                         "not live (fenced), beyond its budget, or of a metric with too "
                                         "long a name",
                                         MetricType::Counter)),
            "result", counts.reports);
  Add(families.emplace_back(
          Family("process_cpu_seconds_total", "CPU time used by the server", MetricType::Counter)),
      {}, CpuSeconds());
  return families;
}

std::string Metrics::Text(const std::function<bool(const std::string&)>& shows) {
  for (const auto& [gauge, read] : gauges_) gauge->Set(read());
  std::vector<MetricFamily> families = registry_.Collect();
  for (MetricFamily& family : Standing()) families.push_back(std::move(family));
  for (const auto& read : families_) {
    for (MetricFamily& family : read()) families.push_back(std::move(family));
  }
  for (MetricFamily& family : families) {
    if (shows == nullptr) break;
    std::erase_if(family.metric, [&shows](const prometheus::ClientMetric& metric) {
      return std::any_of(metric.label.begin(), metric.label.end(),
                         [&shows](const auto& label) { return label.name == "job" && !shows(label.value); });
    });
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace winnow
