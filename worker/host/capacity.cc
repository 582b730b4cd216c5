#include "worker/host/capacity.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>

#include "fmt/format.h"
#include "worker/host/cgroup.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestLabel = 63;

double AllowedProcessors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // On failure the host has more processors than the set holds; all of them count.
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max(1u, std::thread::hardware_concurrency());
}

std::optional<double> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  return file >> value ? std::optional(value) : std::nullopt;
}

// Calls `look` with this process's group and each of its ancestors, whose limits apply too.
template <typename Look>
void ForEachGroup(const std::optional<CgroupPosition>& position, const Look& look) {
  if (!position.has_value()) return;
  for (fs::path group = position->group;; group = group.parent_path()) {
    look(group);
    if (group == position->mount || group == group.parent_path()) return;
  }
}

void Lower(double* least, double value) {
  if (value > 0 && (*least == 0 || value < *least)) *least = value;
}

double TotalMemory(const fs::path& proc) {
  std::ifstream file(proc / "meminfo");
  std::string name;
  double kib = 0;
  return file >> name >> kib && name == "MemTotal:" ? kib * 1024 : 0;
}

}  // namespace

HostCapacity ReadHostCapacity(const fs::path& proc) {
  const fs::path self = proc / "self";
  double cpus = AllowedProcessors();
  double bytes = TotalMemory(proc);
  ForEachGroup(FindCgroup("", self), [&](const fs::path& group) {
    std::ifstream file(group / "cpu.max");  // "QUOTA PERIOD" in microseconds, or "max PERIOD"
    double quota = 0, period = 0;
    if (file >> quota >> period && period > 0) Lower(&cpus, quota / period);
    Lower(&bytes, ReadNumber(group / "memory.max").value_or(0));
  });
  // cgroup v1 writes -1, or a huge number, for no limit.
  ForEachGroup(FindCgroup("cpu", self), [&](const fs::path& group) {
    const double quota = ReadNumber(group / "cpu.cfs_quota_us").value_or(0);
    const double period = ReadNumber(group / "cpu.cfs_period_us").value_or(0);
    if (period > 0) Lower(&cpus, quota / period);
  });
  ForEachGroup(FindCgroup("memory", self), [&](const fs::path& group) {
    Lower(&bytes, ReadNumber(group / "memory.limit_in_bytes").value_or(0));
  });
  return {cpus, bytes / kGib};
}

std::string AddLabel(const std::string& text, std::map<std::string, std::string>* labels) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  // Valid as a label in a job file.
  const auto good = [](const std::string& part) {
    return part.size() <= kLongestLabel &&
           part.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") ==
               std::string::npos;
  };
  if (name.empty() || !good(name) || !good(value)) {
    return fmt::format(
        "\"{}\": expected NAME or NAME=VALUE, each at most {} letters, digits, '-', '_', '.' and '/'", text,
        kLongestLabel);
  }
  labels->insert_or_assign(name, value);
  return "";
}

}  // namespace winnow
