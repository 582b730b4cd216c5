#include "worker/host/process_tree.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "fmt/format.h"
#include "worker/host/leftover_processes.h"

namespace winnow {

namespace fs = std::filesystem;

std::string KernelText(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  std::array<char, 4096> buffer;
  // A process may end between the opening and the reading.
  for (ssize_t got; (got = read(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(got));
  close(file);
  return text;
}

std::vector<pid_t> ProcessIdsIn(std::string_view text) {
  std::vector<pid_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    pid_t id = 0;
    const auto [rest, error] = std::from_chars(at, end, id);
    if (error == std::errc()) ids.push_back(id);
    at = rest == at ? at + 1 : rest;
  }
  return ids;
}

std::optional<ProcessLine> ReadProcess(pid_t pid) {
  const std::string text = KernelText(fmt::format("/proc/{}/stat", pid));
  // "PID (NAME) STATE PARENT GROUP SESSION …"; the name may contain anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  ProcessLine line;
  int group = 0;
  unsigned long user = 0, system = 0;
  long children_user = 0, children_system = 0;
  // After the session: TTY TPGID FLAGS MINFLT CMINFLT MAJFLT CMAJFLT UTIME STIME CUTIME CSTIME, proc(5).
  const int read = sscanf(
      text.c_str() + name_end + 1, " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &line.state,
      &line.parent, &group, &line.session, &user, &system, &children_user, &children_system);
  if (read != 8) return std::nullopt;
  line.cpu_ticks = static_cast<int64_t>(user + system) + children_user + children_system;
  return line;
}

bool IsStopped(pid_t child) {
  siginfo_t info{};
  constexpr int kAsked = WSTOPPED | WNOHANG | WNOWAIT;
  return waitid(P_PID, static_cast<id_t>(child), &info, kAsked) == 0 && info.si_pid == child;
}

std::map<pid_t, ProcessLine> AllProcesses() {
  std::map<pid_t, ProcessLine> processes;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [rest, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || rest != name.data() + name.size()) continue;
    if (const auto line = ReadProcess(pid); line.has_value()) processes.emplace(pid, *line);
  }
  return processes;
}

int64_t ResidentBytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/statm", pid));
  int64_t size = 0, resident = 0;
  return file >> size >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

std::vector<pid_t> ProcessTree::Find(const std::map<pid_t, ProcessLine>& all) {
  std::set<pid_t> found, rest;
  for (const auto& [pid, line] : all) {
    bool is_of_it = line.session == leader_;
    if (!is_of_it && line.parent == getpid() && pid != leader_) {
      const auto [adopted, is_new] = adopted_.try_emplace(pid, false);
      if (is_new) adopted->second = HasMark(pid, mark_);
      is_of_it = adopted->second;
    }
    (is_of_it ? found : rest).insert(pid);
  }
  for (bool more = true; more;) {
    more = std::erase_if(rest, [&](pid_t pid) {
             if (!found.contains(all.at(pid).parent)) return false;
             found.insert(pid);
             return true;
           }) > 0;
  }
  std::erase_if(adopted_, [&all](const auto& adopted) { return !all.contains(adopted.first); });
  return {found.begin(), found.end()};
}

}  // namespace winnow
