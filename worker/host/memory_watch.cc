#include "worker/host/memory_watch.h"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <utility>

#include "fmt/format.h"

namespace winnow {
namespace {

constexpr std::chrono::milliseconds kInterval(100);
// A slow look, such as the PSS of large processes, is followed by a pause of this many times its duration.
constexpr int kPauseFactor = 10;

// The kernel walks every page for it. Empty: cannot be read.
std::optional<int64_t> ProportionalBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", pid));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Pss:")) return std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
  }
  return std::nullopt;
}

}  // namespace

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

}  // namespace winnow
