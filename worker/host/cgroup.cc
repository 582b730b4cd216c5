#include "worker/host/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "worker/host/process_tree.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

// An orphan of a killed process takes a moment to become our child. After this many empty calls it never
// will.
constexpr int kMostEmptyCalls = 5;

std::string FileText(const fs::path& path) { return KernelText(path.string()); }

bool HasWord(const std::string& text, const std::string& word, const char* separators) {
  for (const auto part : absl::StrSplit(text, absl::ByAnyChar(separators))) {
    if (part == word) return true;
  }
  return false;
}

// Returns the path after "HIERARCHY:CONTROLLERS:".
std::optional<std::string> OwnPath(const std::string& v1_controller, const fs::path& proc) {
  std::ifstream file(proc / "cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool found =
        v1_controller.empty() ? line.starts_with("0::") : HasWord(controllers, v1_controller, ",");
    if (found) return line.substr(second + 1);
  }
  return std::nullopt;
}

bool RemoveGroups(const fs::path& path) {
  if (rmdir(path.c_str()) == 0 || errno == ENOENT) return true;  // as a rule there are no groups below it
  std::error_code error;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) RemoveGroups(entry->path());
  }
  return rmdir(path.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

std::optional<CgroupPosition> FindCgroup(const std::string& v1_controller, const fs::path& proc) {
  const std::optional<std::string> own = OwnPath(v1_controller, proc);
  if (!own.has_value()) return std::nullopt;
  std::ifstream mounts(proc / "mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // "ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG…] - TYPE SOURCE SUPEROPTIONS", proc(5).
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string id, parent, device, root, point, type, source, options;
    before >> id >> parent >> device >> root >> point;
    after >> type >> source >> options;
    const bool found =
        v1_controller.empty() ? type == "cgroup2" : type == "cgroup" && HasWord(options, v1_controller, ",");
    if (!found) continue;
    CgroupPosition position{point, point};
    // Without its own cgroup namespace, a container sees its group as the root of the mount.
    if (root == "/") root.clear();
    if (own->starts_with(root + "/") && own->size() > root.size() + 1) {
      position.group = position.mount / own->substr(root.size() + 1);
    }
    return position;
  }
  return std::nullopt;
}

absl::StatusOr<Cgroup> Cgroup::Make(const fs::path& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) {
    return absl::PermissionDeniedError(
        fmt::format("cannot create the control group {}: {}", path.string(), strerrordesc_np(errno)));
  }
  return Cgroup(path, true);
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : path_(std::move(other.path_)),
      made_(std::exchange(other.made_, false)),
      folder_(std::exchange(other.folder_, -1)),
      join_file_(std::exchange(other.join_file_, -1)),
      killed_(std::move(other.killed_)) {}

Cgroup::~Cgroup() {
  if (folder_ >= 0) close(folder_);
  if (join_file_ >= 0) close(join_file_);
  if (!made_ || Remove()) return;
  Kill();
  Remove();
}

int Cgroup::Folder() {
  if (folder_ < 0) folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return folder_;
}

int Cgroup::JoinFile() {
  if (join_file_ < 0) join_file_ = open((path_ / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
  return join_file_;
}

absl::Status Cgroup::Set(const char* file, const std::string& value) const {
  const fs::path path = path_ / file;
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool written = fd >= 0 && write(fd, value.data(), value.size()) == static_cast<ssize_t>(value.size());
  const int error = errno;
  if (fd >= 0) close(fd);
  if (written) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("cannot write {} to {}: {}", value, path.string(), strerrordesc_np(error)));
}

std::optional<int64_t> Cgroup::Number(const char* file, const std::string& key) const {
  std::istringstream in(FileText(path_ / file));
  int64_t value = 0;
  if (key.empty()) return in >> value ? std::optional(value) : std::nullopt;
  for (std::string name; in >> name >> value;) {
    if (name == key) return value;
  }
  return std::nullopt;
}

bool Cgroup::Has(const char* controller) const {
  return HasWord(FileText(path_ / "cgroup.controllers"), controller, " \n");
}

std::vector<pid_t> Cgroup::Processes() const { return ProcessIdsIn(FileText(path_ / "cgroup.procs")); }

bool Cgroup::IsPopulated() const { return Number("cgroup.events", "populated").value_or(0) != 0; }

void Cgroup::Kill() const {
  if (Set("cgroup.kill", "1").ok()) return;
  // Kernels before 5.14 lack cgroup.kill.
  for (const pid_t pid : Processes()) {
    if (pid > 0 && pid != getpid()) kill(pid, SIGKILL);
  }
}

bool Cgroup::KillSome() {
  const bool populated = IsPopulated();
  if (populated) {
    for (const pid_t pid : Processes()) {
      if (std::find(killed_.begin(), killed_.end(), pid) == killed_.end()) killed_.push_back(pid);
    }
    Kill();
  }
  std::erase_if(killed_, [](pid_t pid) {
    return waitpid(pid, nullptr, WNOHANG) == pid || (kill(pid, 0) != 0 && errno == ESRCH);
  });
  if (populated) return true;
  return !killed_.empty() && ++empty_calls_ <= kMostEmptyCalls;
}

bool Cgroup::Remove() const { return RemoveGroups(path_); }

}  // namespace winnow
