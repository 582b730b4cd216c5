#include "worker/host/group_tree.h"

#include <poll.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "fmt/format.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 2> kControllers = {"memory", "cpu"};
// Receives the processes of a group, so that the group can enable controllers.
constexpr char kOthers[] = "winnow-others";
constexpr char kPrefix[] = "winnow-";
constexpr std::chrono::seconds kPatience(10);

// Enables the controllers in one write, all or none: a group with processes would accept cpu alone, and then
// no process could join the groups below it (cgroups(7), "threaded" groups).
void Enable(const Cgroup& group) {
  std::string both;
  for (const char* controller : kControllers) {
    if (group.Has(controller)) both += fmt::format("{}+{}", both.empty() ? "" : " ", controller);
  }
  const bool alone = both == "+cpu" && !group.Processes().empty();
  if (!both.empty() && !alone) group.Set("cgroup.subtree_control", both).IgnoreError();
}

bool HasControllers(const Cgroup& group) {
  return std::all_of(kControllers.begin(), kControllers.end(),
                     [&group](const char* controller) { return group.Has(controller); });
}

// Tests by trying whether a process can join a group of `tree`.
bool CanJoin(const Cgroup& tree) {
  auto probe = Cgroup::Make(tree.path() / "probe");
  if (!probe.ok()) return false;
  const int file = probe->JoinFile();
  if (file < 0) return false;
  const pid_t child = fork();
  if (child == 0) _exit(write(file, "0", 1) == 1 ? 0 : 1);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && status == 0;
}

// Removes the empty groups of workers that were killed and did not return. A live worker holds the lock of
// its group.
void Sweep(const fs::path& base) {
  std::error_code error;
  std::vector<fs::path> trees;
  for (fs::directory_iterator entry(base, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kPrefix)) trees.push_back(entry->path());
  }
  for (const fs::path& path : trees) {
    Cgroup tree = Cgroup::At(path);
    if (path.filename() == kOthers || tree.Folder() < 0 || flock(tree.Folder(), LOCK_EX | LOCK_NB) != 0)
      continue;
    if (!tree.IsPopulated()) tree.Remove();
  }
}

std::optional<Cgroup> TryIn(const fs::path& base, const std::string& name) {
  Enable(Cgroup::At(base));
  // Another worker's sweep may come between creation and lock.
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    auto tree = Cgroup::Make(base / name);
    if (!tree.ok()) return std::nullopt;
    if (tree->Folder() >= 0) flock(tree->Folder(), LOCK_EX);
    Enable(*tree);
    if (CanJoin(*tree)) return *std::move(tree);
  }
  return std::nullopt;
}

// A group with processes cannot enable controllers below it, unless it is the root: so its processes move
// into a group below it. Only in a group that no one else manages.
bool MoveProcessesDown(const CgroupPosition& position) {
  const Cgroup own = Cgroup::At(position.group);
  std::error_code error;
  if (!fs::exists(position.group / "cgroup.type", error)) return false;
  const std::vector<pid_t> processes = own.Processes();
  const bool is_container = position.group == position.mount;
  if (processes.empty() || (!is_container && processes != std::vector<pid_t>{getpid()})) return false;
  const fs::path path = position.group / kOthers;
  fs::create_directory(path, error);
  const Cgroup others = Cgroup::At(path);
  for (const pid_t pid : processes) others.Set("cgroup.procs", std::to_string(pid)).IgnoreError();
  return own.Processes().empty();
}

}  // namespace

std::optional<Cgroup> MakeGroupTree(const std::string& name) {
  const std::optional<CgroupPosition> position = FindCgroup();
  if (!position.has_value()) return std::nullopt;
  std::vector<fs::path> places;
  for (fs::path place = position->group;; place = place.parent_path()) {
    places.push_back(place);
    const Cgroup group = Cgroup::At(place);
    // Limits that somebody set for this worker apply to its trainers too.
    if (group.Number("memory.max").has_value() || group.Number("cpu.max").has_value()) break;
    if (place == position->mount || place == place.parent_path()) break;
  }
  std::optional<Cgroup> next_best;
  const auto consider = [&](const fs::path& place) {
    std::optional<Cgroup> tree = TryIn(place, name);
    const bool full = tree.has_value() && HasControllers(*tree);
    if (full || !next_best.has_value()) {
      // Not by assignment: the previous value must be destroyed first.
      next_best.reset();
      if (tree.has_value()) next_best.emplace(*std::move(tree));
    }
    return full;
  };
  for (const fs::path& place : places) {
    Sweep(place);
    if (consider(place)) return next_best;
  }
  if (MoveProcessesDown(*position)) {
    next_best.reset();  // it may have the same path
    consider(position->group);
  }
  return next_best;
}

int KillLeftoverGroups(const fs::path& record) {
  std::string path;
  std::getline(std::ifstream(record), path);
  const std::optional<CgroupPosition> position = FindCgroup();
  std::error_code error;
  const fs::path tree(path);
  // Touches only a group that a worker made: the file may contain anything.
  if (!position.has_value() || !tree.filename().string().starts_with(kPrefix) ||
      !fs::exists(tree / "cgroup.procs", error)) {
    return 0;
  }
  const std::string inside = path + "/";
  if (position->group == tree || position->group.string().starts_with(inside)) return 0;
  int killed = 0;
  for (fs::directory_iterator entry(tree, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_directory(ignored)) continue;
    const Cgroup group = Cgroup::At(entry->path());
    killed += static_cast<int>(group.Processes().size());
    group.Kill();
  }
  const Cgroup all = Cgroup::At(tree);
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (all.IsPopulated() && std::chrono::steady_clock::now() < deadline) poll(nullptr, 0, 10);
  all.Remove();
  fs::remove(record, error);
  return killed;
}

}  // namespace winnow
