#include "worker/host/limits.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/status_text.h"
#include "fmt/format.h"
#include "worker/host/group_tree.h"

namespace winnow {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
// A slow look, such as the PSS of large processes, is followed by a pause of this many times its duration.
constexpr int kPauseFactor = 10;
constexpr std::chrono::milliseconds kOomKillsAge(100);

// The kernel walks every page for it. Empty: cannot be read.
std::optional<int64_t> ProportionalBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

namespace fs = std::filesystem;

constexpr int64_t kPeriodMicroseconds = 100'000;  // the kernel's own default for cpu.max
// cpu.max refuses a quota below one millisecond.
constexpr int64_t kLeastQuotaMicroseconds = 1'000;
// Where memory is only sampled, RLIMIT_DATA stops a single request far above the limit at once. It counts
// mapped memory, not used memory, so the factor is large.
constexpr double kDataFactor = 4;
constexpr double kDataSpareGib = 4;

std::string Gib(double bytes) { return fmt::format("{:.3g} GiB", bytes / kGib); }

// Whether the words report a failed allocation. A GPU's memory is not limited by us and does not count.
bool SpeaksOfNoMemory(const std::string& words) {
  if (words.find("CUDA") != std::string::npos) return false;
  for (const char* phrase : {"MemoryError", "std::bad_alloc", "Cannot allocate memory", "OutOfMemoryError"}) {
    if (words.find(phrase) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

int64_t HostOomKills() {
  std::ifstream file("/proc/vmstat");
  int64_t value = 0;
  for (std::string name; file >> name >> value;) {
    if (name == "oom_kill") return value;
  }
  return 0;
}

int64_t MemoryOf(const std::vector<pid_t>& processes, int64_t enough) {
  int64_t resident = 0;
  for (const pid_t pid : processes) resident += ResidentBytes(pid);
  if (resident <= enough || processes.size() == 1) return resident;
  int64_t proportional = 0;
  for (const pid_t pid : processes) proportional += ProportionalBytes(pid).value_or(ResidentBytes(pid));
  return proportional;
}

MemoryWatch::Id MemoryWatch::Add(pid_t leader, std::string mark, const Cgroup* group, int64_t limit,
                                 std::function<void(int64_t)> exceeded) {
  watched_.emplace(++last_id_,
                   Watched{ProcessTree(leader, std::move(mark)), group, limit, std::move(exceeded), {}});
  if (timer_ == 0) timer_ = loop_->After(kInterval, [this] { Look(); });
  return last_id_;
}

void MemoryWatch::Remove(Id id) { watched_.erase(id); }

void MemoryWatch::Look() {
  timer_ = 0;
  std::map<pid_t, ProcessLine> all;
  std::vector<std::pair<std::function<void(int64_t)>, int64_t>> exceeded;
  for (auto entry = watched_.begin(); entry != watched_.end();) {
    Watched& watched = entry->second;
    const EventLoop::TimePoint begin = loop_->Now();
    if (begin < watched.not_before) {
      ++entry;
      continue;
    }
    std::vector<pid_t> processes;
    if (watched.group != nullptr) {
      processes = watched.group->Processes();
    } else {
      if (all.empty()) all = AllProcesses();
      processes = watched.tree.Find(all);
    }
    const int64_t bytes = MemoryOf(processes, watched.limit);
    const EventLoop::TimePoint end = loop_->Now();
    watched.not_before = end + kPauseFactor * (end - begin);
    if (bytes > watched.limit) {
      exceeded.emplace_back(std::move(watched.exceeded), bytes);
      entry = watched_.erase(entry);
    } else {
      ++entry;
    }
  }
  if (!watched_.empty()) timer_ = loop_->After(kInterval, [this] { Look(); });
  for (const auto& [call, bytes] : exceeded) call(bytes);
}

Confinement::Confinement(Limiter* limiter, TrainerLimits limits, std::string mark,
                         std::shared_ptr<Cgroup> group, std::vector<int> processors)
    : limiter_(limiter),
      limits_(limits),
      mark_(std::move(mark)),
      group_(std::move(group)),
      processors_(std::move(processors)),
      host_kills_before_(limiter->RecentOomKills()) {}

Confinement::~Confinement() {
  limiter_->watch_.Remove(watch_);
  for (const int processor : processors_) --limiter_->bound_[processor];
}

ChildSetup Confinement::Child() const {
  ChildSetup setup{group_, processors_, 0};
  if (limits_.memory_gib > 0 && !limiter_->memory_) {
    setup.data_bytes = static_cast<uint64_t>((kDataFactor * limits_.memory_gib + kDataSpareGib) * kGib);
  }
  return setup;
}

void Confinement::Watch(pid_t leader, std::function<void()> out_of_memory) {
  if (limits_.memory_gib <= 0 || limiter_->memory_) return;
  watch_ = limiter_->watch_.Add(leader, mark_, group_.get(), static_cast<int64_t>(limits_.memory_gib * kGib),
                                [this, out_of_memory = std::move(out_of_memory)](int64_t bytes) {
                                  bytes_seen_ = bytes;
                                  out_of_memory();
                                });
}

std::string Confinement::OutOfMemory(bool failed, bool killed, const std::string& last_words) const {
  const std::string limit = Gib(limits_.memory_gib * kGib);
  if (bytes_seen_ > 0) {
    return fmt::format("out of memory: used {} of its limit of {}", Gib(static_cast<double>(bytes_seen_)),
                       limit);
  }
  if (!failed) return "";
  if (limiter_->memory_ && limits_.memory_gib > 0 &&
      group_->Number("memory.events", "oom_kill").value_or(0) > 0) {
    // Kernels before 5.19 do not report the peak, which is the limit.
    const double peak = static_cast<double>(
        group_->Number("memory.peak").value_or(static_cast<int64_t>(limits_.memory_gib * kGib)));
    return fmt::format("out of memory: used {} of its limit of {}", Gib(peak), limit);
  }
  if (killed && HostOomKills() > host_kills_before_)
    return "out of memory: the kernel killed it because the host ran out of memory";
  if (limits_.memory_gib > 0 && !limiter_->memory_ && SpeaksOfNoMemory(last_words))
    return fmt::format("out of memory: an allocation exceeded its limit of {}", limit);
  return "";
}

Limiter::Limiter(EventLoop* loop) : loop_(loop), watch_(loop) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) bound_[processor] = 0;
  }
}

Limiter::Limiter(EventLoop* loop, const fs::path& work, const std::string& name) : Limiter(loop) {
  record_ = work / "cgroup";
  leftovers_ = KillLeftoverGroups(record_);
  std::optional<Cgroup> tree = MakeGroupTree("winnow-" + name);
  if (!tree.has_value()) return;
  tree_.emplace(*std::move(tree));
  memory_ = tree_->Has("memory");
  cpu_ = tree_->Has("cpu");
  std::ofstream(record_) << tree_->path().string() << "\n";
}

Limiter::~Limiter() {
  if (!tree_.has_value()) return;
  tree_.reset();
  std::error_code ignored;
  fs::remove(record_, ignored);
}

int64_t Limiter::RecentOomKills() {
  if (loop_->Now() >= oom_kills_until_) {
    oom_kills_ = HostOomKills();
    oom_kills_until_ = loop_->Now() + kOomKillsAge;
  }
  return oom_kills_;
}

std::vector<int> Limiter::TakeProcessors(double cpus) {
  const size_t count = static_cast<size_t>(std::ceil(cpus));
  if (count >= bound_.size()) return {};
  std::vector<std::pair<int, int>> by_load;
  for (const auto& [processor, trainers] : bound_) by_load.emplace_back(trainers, processor);
  std::sort(by_load.begin(), by_load.end());
  std::vector<int> processors;
  for (size_t i = 0; i < count; ++i) {
    processors.push_back(by_load[i].second);
    ++bound_[by_load[i].second];
  }
  return processors;
}

absl::StatusOr<std::unique_ptr<Confinement>> Limiter::Confine(const std::string& assignment,
                                                              const std::string& mark, TrainerLimits limits) {
  std::shared_ptr<Cgroup> group;
  if (tree_.has_value()) {
    std::erase_if(groups_, [](const auto& entry) {
      return entry.second.expired() && Cgroup::At(entry.first).Remove();
    });
    std::string name = assignment;
    std::replace(name.begin(), name.end(), '/', '_');
    const fs::path path = tree_->path() / ("trainer-" + name);
    auto made = Cgroup::Make(path);
    if (!made.ok()) return absl::ResourceExhaustedError(MessageOf(made.status()));
    group = std::make_shared<Cgroup>(*std::move(made));
    groups_[path] = group;
  }
  const auto set = [&group](const char* file, const std::string& value) { return group->Set(file, value); };
  absl::Status status;
  if (memory_ && limits.memory_gib > 0) {
    status = set("memory.max", std::to_string(static_cast<int64_t>(limits.memory_gib * kGib)));
    // Kills the whole group instead of one process, and forbids swapping. Kernels may lack both files.
    set("memory.oom.group", "1").IgnoreError();
    set("memory.swap.max", "0").IgnoreError();
  }
  if (status.ok() && cpu_ && limits.cpus > 0) {
    const int64_t quota =
        std::max<int64_t>(kLeastQuotaMicroseconds,
                          static_cast<int64_t>(limits.cpus * static_cast<double>(kPeriodMicroseconds)));
    status = set("cpu.max", fmt::format("{} {}", quota, kPeriodMicroseconds));
  }
  if (!status.ok()) return absl::ResourceExhaustedError(MessageOf(status));
  std::vector<int> processors;
  if (!cpu_ && limits.cpus > 0) processors = TakeProcessors(limits.cpus);
  return std::unique_ptr<Confinement>(
      new Confinement(this, limits, mark, std::move(group), std::move(processors)));
}

}  // namespace winnow
