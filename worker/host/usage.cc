#include "worker/host/usage.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>
#include <vector>

namespace winnow {
namespace {

constexpr double kKibPerGib = 1024.0 * 1024;

}  // namespace

HostUsage::HostUsage(std::filesystem::path proc) : proc_(std::move(proc)), last_(ReadProcessors()) {}

void HostUsage::Add(const std::string& assignment, pid_t leader, const std::string& mark,
                    const Cgroup* group) {
  trainers_.erase(assignment);
  trainers_.emplace(assignment, Trainer{ProcessTree(leader, mark), group, Clock::now()});
}

void HostUsage::Remove(const std::string& assignment) { trainers_.erase(assignment); }

// "cpu USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL GUEST GUEST_NICE", proc(5); USER and NICE include the
// guests' time.
HostUsage::Processors HostUsage::ReadProcessors() const {
  constexpr int kIdle = 3, kWaiting = 4, kCounted = 8;
  std::ifstream file(proc_ / "stat");
  std::string name;
  file >> name;
  Processors processors;
  for (int field = 0; field < kCounted; ++field) {
    int64_t ticks = 0;
    if (!(file >> ticks)) break;
    processors.all += ticks;
    if (field != kIdle && field != kWaiting) processors.busy += ticks;
  }
  return processors;
}

void HostUsage::ReadMemory(v1::UsageSample& sample) const {
  std::ifstream file(proc_ / "meminfo");
  double total = 0, available = 0;  // KiB
  std::string name;
  double kib = 0;
  constexpr auto kWholeLine = std::numeric_limits<std::streamsize>::max();
  for (; (total == 0 || available == 0) && file >> name >> kib; file.ignore(kWholeLine, '\n')) {
    if (name == "MemTotal:") total = kib;
    if (name == "MemAvailable:") available = kib;
  }
  if (total <= 0) return;
  sample.set_memory(std::clamp((total - available) / total, 0.0, 1.0));
  sample.set_memory_gib((total - available) / kKibPerGib);
}

v1::UsageSample HostUsage::Sample() {
  v1::UsageSample sample;
  const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count();
  sample.mutable_time()->set_seconds(now_ns / 1'000'000'000);
  sample.mutable_time()->set_nanos(static_cast<int32_t>(now_ns % 1'000'000'000));
  const Processors processors = ReadProcessors();
  const auto busy = static_cast<double>(processors.busy - last_.busy);
  const auto all = static_cast<double>(processors.all - last_.all);
  if (all > 0) sample.set_cpu(std::clamp(busy / all, 0.0, 1.0));
  last_ = processors;
  ReadMemory(sample);

  std::map<pid_t, ProcessLine> table;
  for (auto& [assignment, trainer] : trainers_) {
    if (trainer.group == nullptr && table.empty()) table = AllProcesses();
    const std::vector<pid_t> found =
        trainer.group != nullptr ? trainer.group->Processes() : trainer.tree.Find(table);
    double cpu_seconds = 0;
    if (trainer.group != nullptr) {
      cpu_seconds = static_cast<double>(trainer.group->Number("cpu.stat", "usage_usec").value_or(0)) / 1e6;
    } else {
      int64_t ticks = 0;
      for (const pid_t pid : found) ticks += table.at(pid).cpu_ticks;
      cpu_seconds = static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
    }
    int64_t bytes = 0;
    for (const pid_t pid : found) bytes += ResidentBytes(pid);
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - std::exchange(trainer.since, now)).count();
    // The time of an ended process is lost, unless its parent has reaped it.
    const double used = std::max(0.0, cpu_seconds - std::exchange(trainer.cpu_seconds, cpu_seconds));
    v1::AssignmentUsage& usage = *sample.add_assignments();
    usage.set_assignment_id(assignment);
    usage.set_cpus(seconds > 0 ? used / seconds : 0);
    usage.set_memory_gib(static_cast<double>(bytes) / kGib);
  }
  return sample;
}

}  // namespace winnow
