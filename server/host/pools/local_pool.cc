#include "server/host/pools/local_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/spawn.h"
#include "server/host/pools/fields.h"

namespace winnow {
namespace {

constexpr char kShell[] = "/bin/sh";
constexpr size_t kMostHostName = 256;

std::string HostName() {
  char name[kMostHostName] = "";
  (void)gethostname(name, sizeof name - 1);
  return name;
}

// The arguments of a process; empty: it is gone, or the kernel's.
std::vector<std::string> ArgumentsOf(const std::filesystem::path& process) {
  std::ifstream file(process / "cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  return arguments;
}

}  // namespace

std::unique_ptr<Pool> LocalPool::Make(const PoolSettings&, const PoolPlace& place, const nlohmann::json& own,
                                      PoolProblems& problems) {
  const size_t before = problems.size();
  Fields fields(own, "local", problems);
  std::unique_ptr<LocalPool> pool(new LocalPool(PilotFiles(place.folder)));
  pool->scratch_ = fields.Text("scratch_dir", "/tmp");
  fields.Done();
  if (problems.size() != before) return nullptr;
  return pool;
}

absl::StatusOr<std::vector<std::string>> LocalPool::Submit(const std::vector<AllocationRequest>& batch) {
  const AllocationRequest& request = batch.front();
  if (!Running({{request.name, ""}}).empty()) return absl::AlreadyExistsError(request.name + " runs already");
  const absl::StatusOr<std::filesystem::path> script = files().WriteScript(request, scratch_);
  if (!script.ok()) return script.status();
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const std::vector<std::string> environment =
      EnvironmentWithout([](std::string_view entry) { return entry.starts_with("WINNOW_"); });
  for (int32_t node = 0; node < request.nodes; ++node) {
    pid_t pid = 0;
    const int error = Spawn({kShell, script->string(), std::to_string(node)}, environment,
                            {nothing, nothing, nothing}, &pid);
    if (error != 0) {
      close(nothing);
      (void)Cancel({{request.name, ""}});  // those that have started
      return absl::InternalError(fmt::format("{} cannot be started: {}", kShell, strerror(error)));
    }
    children_.push_back(pid);
  }
  close(nothing);
  return std::vector<std::string>{std::to_string(children_.back())};
}

void LocalPool::Reap() {
  std::erase_if(children_, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
}

std::map<std::string, std::vector<pid_t>> LocalPool::Running(
    const std::vector<AllocationKey>& allocations) const {
  std::map<std::string, std::string> names;  // by their scripts
  for (const AllocationKey& key : allocations) names[files().Of(key.name) / kNodeScript] = key.name;
  std::map<std::string, std::vector<pid_t>> running;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string id = entry.path().filename();
    if (id.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::vector<std::string> arguments = ArgumentsOf(entry.path());
    if (arguments.size() != 3 || arguments[0] != kShell) continue;
    const auto pid = static_cast<pid_t>(std::stol(id));
    // The script's own children have its command line for a moment, and its group always.
    if (const auto found = names.find(arguments[1]); found != names.end() && getpgid(pid) == pid)
      running[found->second].push_back(pid);
  }
  return running;
}

absl::StatusOr<std::vector<Allocation>> LocalPool::List(const std::vector<AllocationKey>& allocations) {
  Reap();
  const std::map<std::string, std::vector<pid_t>> running = Running(allocations);
  std::vector<Allocation> known;
  for (const AllocationKey& key : allocations) {
    const bool runs = running.contains(key.name);
    if (!runs && !std::filesystem::exists(files().Of(key.name))) continue;
    Allocation& allocation = known.emplace_back();
    allocation.name = key.name;
    allocation.id = key.id;
    allocation.state = runs ? Allocation::State::kRunning : Allocation::State::kEnded;
    if (!runs) allocation.reason = "its processes have ended";
    allocation.hosts = {HostName()};
  }
  return known;
}

absl::Status LocalPool::Cancel(const std::vector<AllocationKey>& allocations) {
  for (const auto& [name, leaders] : Running(allocations)) {
    for (const pid_t leader : leaders) kill(-leader, SIGTERM);
  }
  Reap();
  return absl::OkStatus();
}

std::string LocalPool::Render(const std::vector<AllocationRequest>& batch) const {
  const AllocationRequest& request = batch.front();
  return fmt::format("# {} processes of this machine run, with their numbers as the argument:\n{}",
                     request.nodes, NodeScript(files(), request, scratch_));
}

}  // namespace winnow
